#include "analysis/findings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "analysis/finding_rules.h"
#include "analysis/wide.h"

namespace interlude {
namespace internal {

void FindingContext::SetSaving(int64_t ns, Finding& finding) const {
  if (measured.empty()) return;
  finding.saves_ns_per_round = ns / static_cast<int64_t>(measured.size());
  finding.round_share = ShareOf(ns);
}

int64_t FindingContext::OnPath(const std::set<std::string_view>& what) const {
  int64_t sum = 0;
  for (const PathShare& share : path) {
    if (measured.contains(share.round) && what.contains(share.what)) AddTo(sum, share.ns);
  }
  return sum;
}

std::string Listed(const std::set<int32_t>& workers) {
  return fmt::format("{}", fmt::join(workers, ", "));
}

std::string RoundsText(const std::set<uint32_t>& rounds) {
  if (rounds.empty()) return "no round";
  const uint32_t first = *rounds.begin(), last = *rounds.rbegin();
  if (rounds.size() == 1) return fmt::format("round {}", first);
  if (last - first + 1 == rounds.size()) return fmt::format("rounds {} to {}", first, last);
  return fmt::format("{} rounds from {} to {}", rounds.size(), first, last);
}

std::string Percent(double share) {
  return share >= 0.0995 ? fmt::format("{:.0f} %", 100 * share)
                         : fmt::format("{:.1f} %", 100 * share);
}

namespace {

FindingContext MakeContext(const FindingTables& input, const std::vector<WorkerRoundCause>& causes,
                           const Drags& drags, std::span<const PathShare> path) {
  FindingContext context{input, causes, drags, path, {}, 0};
  for (const RoundRecord& round : input.tables.rounds) {
    if (round.end_ns > round.begin_ns && round.begin_ns >= 0)
      context.measured[round.round] = &round;
  }
  if (context.measured.size() > 1) context.measured.erase(context.measured.begin());
  for (const auto& [number, round] : context.measured)
    AddTo(context.wall_ns, round->end_ns - round->begin_ns);
  return context;
}

}  // namespace
}  // namespace internal

std::vector<Finding> FindFindings(const FindingTables& input,
                                  const std::vector<WorkerRoundCause>& causes, Drags drags,
                                  std::span<const PathShare> path) {
  if (drags.empty()) drags = DragsFromExcess(causes);
  const internal::FindingContext context = internal::MakeContext(input, causes, drags, path);
  internal::Findings wrong, others;
  internal::FindWrongResults(context, wrong);
  internal::FindStragglers(context, others);
  internal::FindOnPath(context, others);
  internal::FindHostTroubles(context, others);
  internal::FindLoading(context, others);
  internal::FindClockTroubles(context, others);
  internal::FindEvents(context, others);
  std::stable_sort(others.begin(), others.end(), [](const Finding& a, const Finding& b) {
    return a.saves_ns_per_round > b.saves_ns_per_round;
  });
  wrong.insert(wrong.end(), std::make_move_iterator(others.begin()),
               std::make_move_iterator(others.end()));
  return wrong;
}

std::string WorkersText(const std::set<int32_t>& workers) {
  std::string text = workers.size() == 1 ? "worker " : "workers ";
  size_t i = 0;
  for (const int32_t worker : workers) {
    text += i == 0 ? "" : i + 1 == workers.size() ? " and " : ", ";
    text += std::to_string(worker);
    ++i;
  }
  return text;
}

}  // namespace interlude
