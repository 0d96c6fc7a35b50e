// The critical paths of two runs, kind by kind.
#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/compare_runs.h"
#include "analysis/mean_noise.h"
#include "analysis/wide.h"

namespace interlude {
namespace {

/// A round as each run went through it.
using Pair = std::pair<const RoundPath*, const RoundPath*>;

/// Rounds ascend in both.
std::vector<Pair> RoundsOfBoth(const std::vector<RoundPath>& a, const std::vector<RoundPath>& b,
                               PathComparison& comparison) {
  std::vector<Pair> both;
  auto of_b = b.begin();
  for (const RoundPath& of_a : a) {
    while (of_b != b.end() && of_b->round < of_a.round) ++of_b;
    if (of_b != b.end() && of_b->round == of_a.round) both.emplace_back(&of_a, &*of_b);
  }
  comparison.only_in_a = static_cast<uint32_t>(a.size() - both.size());
  comparison.only_in_b = static_cast<uint32_t>(b.size() - both.size());
  const auto is_first = [&](const Pair& pair) {
    return pair.first == &a.front() || pair.second == &b.front();
  };
  if (!std::all_of(both.begin(), both.end(), is_first))
    comparison.without_first = std::erase_if(both, is_first) > 0;
  comparison.without_path = static_cast<uint32_t>(std::erase_if(both, [](const Pair& pair) {
    return !internal::IsWhole(*pair.first) || !internal::IsWhole(*pair.second);
  }));
  comparison.rounds = static_cast<uint32_t>(both.size());
  return both;
}

/// How long something was on the path of each round.
struct Series {
  std::vector<int64_t> a, b;
};

void AddPieces(const RoundPath& path, size_t at, size_t rounds, std::vector<int64_t> Series::*run,
               std::map<ActivityKind, Series>& kinds) {
  for (const PathPiece& piece : path.pieces) {
    Series& series = kinds[piece.what];
    series.a.resize(rounds);
    series.b.resize(rounds);
    (series.*run)[at] += piece.end_ns - piece.begin_ns;
  }
}

PathChange Compare(ActivityKind what, const Series& series, double tail) {
  PathChange change{.what = what};
  std::vector<int64_t> differences;
  for (size_t i = 0; i < series.a.size(); ++i) {
    AddTo(change.a_ns, series.a[i]);
    AddTo(change.b_ns, series.b[i]);
    differences.push_back(series.b[i] - series.a[i]);
  }
  if (differences.empty()) return change;
  change.difference_ns =
      static_cast<double>(change.b_ns - change.a_ns) / static_cast<double>(differences.size());
  change.give_or_take_ns = NoiseOfMean(differences, tail);
  return change;
}

}  // namespace

bool PathChange::changed() const {
  return give_or_take_ns && std::abs(difference_ns) > *give_or_take_ns;
}

bool internal::IsWhole(const RoundPath& path) {
  return !path.pieces.empty() && !path.workers.empty() &&
         std::none_of(path.workers.begin(), path.workers.end(), [](const WorkerPath& worker) {
           return worker.clock.source == ClockSource::kNone;
         });
}

PathComparison internal::ComparePaths(const std::vector<RoundPath>& a,
                                      const std::vector<RoundPath>& b) {
  PathComparison comparison;
  const std::vector<Pair> rounds = RoundsOfBoth(a, b, comparison);
  std::map<ActivityKind, Series> kinds;
  Series wall;
  for (size_t i = 0; i < rounds.size(); ++i) {
    const auto& [of_a, of_b] = rounds[i];
    AddPieces(*of_a, i, rounds.size(), &Series::a, kinds);
    AddPieces(*of_b, i, rounds.size(), &Series::b, kinds);
    wall.a.push_back(of_a->end_ns - of_a->begin_ns);
    wall.b.push_back(of_b->end_ns - of_b->begin_ns);
  }
  // All rows and their sum are looked at, so each may miss that much more seldom (Bonferroni).
  const double tail = kMissesOfAll / (static_cast<double>(kinds.size()) + 1);
  for (const auto& [what, series] : kinds) comparison.rows.push_back(Compare(what, series, tail));
  std::stable_sort(comparison.rows.begin(), comparison.rows.end(),
                   [](const PathChange& left, const PathChange& right) {
                     const bool known = left.what != ActivityKind::kUnexplained;
                     if (known != (right.what != ActivityKind::kUnexplained)) return known;
                     return std::abs(left.difference_ns) > std::abs(right.difference_ns);
                   });
  comparison.round = Compare(ActivityKind::kJoin, wall, tail);
  return comparison;
}

}  // namespace interlude
