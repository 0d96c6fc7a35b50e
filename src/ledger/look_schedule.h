// When to look for the owners of a process's memory again. Plain arithmetic; one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "base/clock.h"

namespace interlude {

/// Every two seconds, and sooner where resident memory has moved or a peak is likely, as long as
/// the looks cost no more than a 12,000th of one CPU. The first 6 ms are free: nothing is
/// remembered for them yet.
class LookSchedule {
 public:
  explicit LookSchedule(Nanoseconds begin) : begun_(begin), due_(begin), affordable_(begin) {}

  /// Whether to look at `now`, with so much resident memory; `peak`: one is likely.
  bool IsDue(Nanoseconds now, int64_t rss_bytes, bool peak = false) const {
    const bool moved = std::abs(rss_bytes - seen_bytes_) > seen_bytes_ / kMovedPart;
    return now >= affordable_ && (peak || moved || now >= due_);
  }

  /// It was looked, which cost so much CPU time.
  void Looked(Nanoseconds now, int64_t rss_bytes, int64_t cost_ns) {
    seen_bytes_ = rss_bytes;
    spent_ns_ += cost_ns;
    due_ = now + kEvery;
    affordable_ = begun_ + Nanoseconds((spent_ns_ - kFreeNs) * kRest);
  }

 private:
  static constexpr Nanoseconds kEvery = std::chrono::seconds(2);
  static constexpr int64_t kMovedPart = 64;
  static constexpr int64_t kFreeNs = 6'000'000;
  static constexpr int64_t kRest = 12000;

  const Nanoseconds begun_;
  Nanoseconds due_;
  Nanoseconds affordable_;
  int64_t seen_bytes_ = 0;
  int64_t spent_ns_ = 0;
};

}  // namespace interlude
