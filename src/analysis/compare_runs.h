// What differs between two runs: the phases of the critical path with their noise, the settings,
// the figures of the whole run, the parameters, the findings and the workers. Plain values; pure
// functions; any thread.
//
// The noise is that of the rounds within the two runs. What changes from one run to the next (the
// hour, the machine) is not in it: only a third run shows that.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/run_summary.h"

namespace interlude {

/// The probability that any of the intervals of a comparison misses, where nothing changed.
inline constexpr double kMissesOfAll = 0.05;

/// One kind of piece of the critical path.
struct PathChange {
  ActivityKind what = ActivityKind::kUnexplained;
  int64_t a_ns = 0;  // of all rounds compared together
  int64_t b_ns = 0;
  double difference_ns = 0;               // B's less A's, in the mean of the rounds
  std::optional<double> give_or_take_ns;  // half the interval; none: too few rounds

  /// There is an interval, and 0 is not in it.
  bool changed() const;
};

/// Round by round: what depends on the round's number, like an evaluation every tenth, is in both.
struct PathComparison {
  /// Those that both have with a critical path on which workers are and each one's clock is known;
  /// without each run's first when there are others.
  uint32_t rounds = 0;
  bool without_first = false;
  uint32_t without_path = 0;  // rounds of both that are left out for want of a path in either
  uint32_t only_in_a = 0, only_in_b = 0;
  PathChange round;              // the sum of the rows, exactly
  std::vector<PathChange> rows;  // the largest difference first, the unexplained last

  double MeanNs(int64_t sum_ns) const {
    return rounds == 0 ? 0 : static_cast<double>(sum_ns) / rounds;
  }
};

/// A key of the configuration, of `meta` or of a worker that is not the same in both runs.
struct SettingChange {
  std::string key;  // "round.local_steps", "software", "worker 2 threads"
  std::optional<std::string> a, b;
};

enum class FigureUnit : uint8_t { kCount, kSeconds, kBytes, kShare, kLoss };

/// A figure of the whole run; none: not recorded.
struct FigureChange {
  std::string_view name;  // in JSON: "samples_per_second"
  std::string_view text;  // for people
  FigureUnit unit = FigureUnit::kCount;
  std::optional<double> a, b;
};

/// How long both runs had the same parameters, by the root hashes of the rounds that both recorded.
struct SameParameters {
  uint32_t rounds = 0;                // that both recorded
  std::optional<uint32_t> last_same;  // before the first that differs
  std::optional<uint32_t> first_differs;
};

/// A finding of one of the runs, or of both: of one id, and where it is about workers, about one of
/// them at least in both.
struct FindingChange {
  std::optional<Finding> a, b;
  const Finding& any() const { return b ? *b : *a; }
};

/// A worker of both runs, in a median round of each.
struct WorkerFigures {
  double train_seconds = 0, encode_seconds = 0, apply_seconds = 0, drag_seconds = 0;
};
struct WorkerChange {
  int32_t worker = 0;
  WorkerFigures a, b;
};

struct RunComparison {
  PathComparison path;
  std::vector<SettingChange> settings;
  std::vector<FigureChange> figures;
  SameParameters parameters;
  std::vector<FindingChange> findings;  // new in B, then gone in B, then in both
  std::vector<WorkerChange> workers;
};

/// InvalidArgument, with what to do, for a run whose rounds have no critical path: an older
/// program's, which kept no account, or one in which no round has finished.
Status CheckComparable(const RunSummary& run);

RunComparison CompareRuns(const RunSummary& a, const RunSummary& b);

namespace internal {

// compare_path.cc
/// A worker's times are on the path only where there are records of it and its clock is known: else
/// they seem unexplained.
bool IsWhole(const RoundPath& path);
PathComparison ComparePaths(const std::vector<RoundPath>& a, const std::vector<RoundPath>& b);

// compare_settings.cc
std::vector<SettingChange> CompareSettings(const RunSummary& a, const RunSummary& b);

}  // namespace internal
}  // namespace interlude
