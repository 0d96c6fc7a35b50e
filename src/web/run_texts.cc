#include "web/run_texts.h"

#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include "analysis/analyze_run.h"
#include "ledger/run_database.h"
#include "ledger/run_database_watch.h"
#include "report/run_report.h"
#include "web/run_metrics.h"

namespace interlude {
namespace {

using Format = StatusOr<std::string> (*)(const RunDatabase&);

class DatabaseText final : public TextSource {
 public:
  DatabaseText(const std::string& directory, Format format)
      : path_((std::filesystem::path(directory) / "run.db").string()), format_(format) {}

  StatusOr<int64_t> Version() override {
    if (watch_ == nullptr) {
      INTERLUDE_ASSIGN_OR_RETURN(watch_, RunDatabaseWatch::Open(path_));
    }
    return watch_->Version();
  }

  StatusOr<std::string> Make() override {
    INTERLUDE_ASSIGN_OR_RETURN(const auto database, RunDatabase::OpenReadOnly(path_));
    return format_(*database);
  }

 private:
  const std::string path_;
  const Format format_;
  std::unique_ptr<RunDatabaseWatch> watch_;
};

StatusOr<std::string> FormatReport(const RunDatabase& database) {
  INTERLUDE_ASSIGN_OR_RETURN(const RunSummary run, AnalyzeRun(database));
  return FormatRunJson(run, /*indent=*/-1);
}

StatusOr<std::string> FormatMetrics(const RunDatabase& database) {
  INTERLUDE_ASSIGN_OR_RETURN(const RunSummary run, AnalyzeRun(database));
  std::map<std::string, double> path_seconds;
  if (!run.paths.empty()) {
    for (const auto& [piece, ns] : SumPieces(run.paths.back().pieces))
      path_seconds[std::string(ActivityName(piece.first))] += static_cast<double>(ns) * 1e-9;
  }
  return FormatRunMetrics(database, path_seconds);
}

}  // namespace

std::unique_ptr<TextSource> MakeReportSource(const std::string& directory) {
  return std::make_unique<DatabaseText>(directory, &FormatReport);
}

std::unique_ptr<TextSource> MakeMetricsSource(const std::string& directory) {
  return std::make_unique<DatabaseText>(directory, &FormatMetrics);
}

}  // namespace interlude
