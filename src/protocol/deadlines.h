// How long each worker usually takes for its part of a round, learnt from the rounds it took part
// in. Pure; owned by the round thread.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>

#include "base/clock.h"
#include "protocol/types.h"

namespace interlude {

/// A usual time, and from how many rounds it is known.
struct UsualTime {
  Nanoseconds time{0};
  size_t rounds = 0;

  friend bool operator==(const UsualTime&, const UsualTime&) = default;
};

class Deadlines {
 public:
  /// Only so many of a worker's newest rounds count.
  static constexpr size_t kRounds = 20;

  /// From the round's start to the first chunk of the worker's delta and to the last.
  void Delivered(WorkerId worker, Nanoseconds first, Nanoseconds last);
  /// From the round's commit to the worker's report.
  void Reported(WorkerId worker, Nanoseconds after_commit);

  /// The 95th percentile of the time to the chunk at `part` of the delta, between 0 (its first) and
  /// 1 (its last). Of a worker that is not known yet, the longest of any; nothing when none is.
  std::optional<UsualTime> Delivery(WorkerId worker, double part) const;
  std::optional<UsualTime> Report(WorkerId worker) const;

 private:
  using History = std::deque<Nanoseconds>;
  using Histories = std::map<WorkerId, History>;
  static void Add(Histories& histories, WorkerId worker, Nanoseconds time);
  static UsualTime Percentile95(const History& history);
  static std::optional<UsualTime> Usual(const Histories& histories, WorkerId worker);

  Histories first_;
  Histories last_;
  Histories report_;
};

}  // namespace interlude
