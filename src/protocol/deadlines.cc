#include "protocol/deadlines.h"

#include <algorithm>
#include <vector>

namespace interlude {

void Deadlines::Add(Histories& histories, WorkerId worker, Nanoseconds time) {
  History& history = histories[worker];
  history.push_back(time);
  if (history.size() > kRounds) history.pop_front();
}

void Deadlines::Delivered(WorkerId worker, Nanoseconds first, Nanoseconds last) {
  Add(first_, worker, first);
  Add(last_, worker, last);
}

void Deadlines::Reported(WorkerId worker, Nanoseconds after_commit) {
  Add(report_, worker, after_commit);
}

UsualTime Deadlines::Percentile95(const History& history) {
  std::vector<Nanoseconds> sorted(history.begin(), history.end());
  std::sort(sorted.begin(), sorted.end());
  const size_t rank = (sorted.size() * 95 + 99) / 100;  // from 1: at least 95 % are not above it
  return {.time = sorted[rank - 1], .rounds = sorted.size()};
}

std::optional<UsualTime> Deadlines::Usual(const Histories& histories, WorkerId worker) {
  if (const auto own = histories.find(worker); own != histories.end())
    return Percentile95(own->second);
  std::optional<UsualTime> longest;
  for (const auto& [other, history] : histories) {
    const UsualTime usual = Percentile95(history);
    if (!longest || usual.time > longest->time) longest = usual;
  }
  return longest;
}

std::optional<UsualTime> Deadlines::Delivery(WorkerId worker, double part) const {
  const std::optional<UsualTime> first = Usual(first_, worker);
  const std::optional<UsualTime> last = Usual(last_, worker);
  if (!first || !last) return std::nullopt;
  const auto between =
      static_cast<double>(std::max(Nanoseconds(0), last->time - first->time).count());
  return UsualTime{.time = first->time + Nanoseconds(static_cast<int64_t>(between * part)),
                   .rounds = last->rounds};
}

std::optional<UsualTime> Deadlines::Report(WorkerId worker) const { return Usual(report_, worker); }

}  // namespace interlude
