#include "web/run_texts.h"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "analysis/analyze_run.h"
#include "analysis/run_paths.h"
#include "ledger/run_database.h"
#include "ledger/run_database_watch.h"
#include "report/run_report.h"
#include "web/run_metrics.h"

namespace interlude {
namespace {

/// What is made from the run's database whenever somebody has written to it.
class DatabaseText : public TextSource {
 public:
  explicit DatabaseText(const std::string& directory)
      : path_((std::filesystem::path(directory) / "run.db").string()) {}

  StatusOr<int64_t> Version() override {
    if (watch_ == nullptr) {
      INTERLUDE_ASSIGN_OR_RETURN(watch_, RunDatabaseWatch::Open(path_));
    }
    return watch_->Version();
  }

  StatusOr<std::string> Make() override {
    INTERLUDE_ASSIGN_OR_RETURN(const auto database, RunDatabase::OpenToFollow(path_));
    return Format(*database);
  }

 private:
  virtual StatusOr<std::string> Format(const RunDatabase& database) = 0;

  const std::string path_;
  std::unique_ptr<RunDatabaseWatch> watch_;
};

class ReportText final : public DatabaseText {
  using DatabaseText::DatabaseText;

  StatusOr<std::string> Format(const RunDatabase& database) override {
    INTERLUDE_ASSIGN_OR_RETURN(const RunSummary run, AnalyzeRun(database));
    return FormatRunJson(run, /*indent=*/-1);
  }
};

class MetricsText final : public DatabaseText {
  using DatabaseText::DatabaseText;

  StatusOr<std::string> Format(const RunDatabase& database) override {
    INTERLUDE_RETURN_IF_ERROR(metrics_.Read(database));
    INTERLUDE_ASSIGN_OR_RETURN(const auto path_seconds, NewestPath(database));
    return metrics_.Format(path_seconds);
  }

  /// The newest round's critical path by what it went through.
  StatusOr<std::map<std::string, double>> NewestPath(const RunDatabase& database) const {
    std::map<std::string, double> seconds;
    const std::optional<RoundRecord>& round = metrics_.newest_round();
    if (!round) return seconds;
    const RoundRange only{round->round, round->round};
    INTERLUDE_ASSIGN_OR_RETURN(const auto meta, database.Meta());
    INTERLUDE_ASSIGN_OR_RETURN(const auto workers, database.Workers());
    INTERLUDE_ASSIGN_OR_RETURN(const auto clocks, database.ClocksOf(round->round));
    INTERLUDE_ASSIGN_OR_RETURN(const auto spans, database.SpansOf(only));
    INTERLUDE_ASSIGN_OR_RETURN(const auto stamps, database.StampsOf(only));
    const RoundPath path =
        RunPaths(workers, metrics_.newest_events(), meta, clocks, metrics_.newest_samples())
            .Find(*round, spans, stamps);
    for (const auto& [piece, ns] : SumPieces(path.pieces))
      seconds[std::string(ActivityName(piece.first))] += static_cast<double>(ns) * 1e-9;
    return seconds;
  }

  RunMetrics metrics_;
};

}  // namespace

std::unique_ptr<TextSource> MakeReportSource(const std::string& directory) {
  return std::make_unique<ReportText>(directory);
}

std::unique_ptr<TextSource> MakeMetricsSource(const std::string& directory) {
  return std::make_unique<MetricsText>(directory);
}

}  // namespace interlude
