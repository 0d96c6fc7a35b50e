#include "analysis/run_series.h"

namespace interlude {

StatusOr<RunSeries> ReadRunSeries(const RunDatabase& database) {
  RunSeries series;
  INTERLUDE_ASSIGN_OR_RETURN(series.samples, database.Samples());
  INTERLUDE_ASSIGN_OR_RETURN(series.memory, database.Memory());
  INTERLUDE_ASSIGN_OR_RETURN(series.probes, database.Probes());
  return series;
}

}  // namespace interlude
