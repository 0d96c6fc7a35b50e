// Time, injected: what reads a clock takes a Clock&, so that tests move time by hand.
// State machines in protocol/ do not even hold one: they take `now` as an argument.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace interlude {

using Nanoseconds = std::chrono::nanoseconds;

/// Any thread may call.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Monotonic time; its zero is arbitrary and differs between machines.
  virtual Nanoseconds Now() const = 0;
  /// Time since the Unix epoch; may jump. For display and file names only, never for durations.
  virtual Nanoseconds WallTime() const = 0;
};

/// The machine's clocks: CLOCK_MONOTONIC and CLOCK_REALTIME.
const Clock& SystemClock();

/// A clock that only its owner moves.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(Nanoseconds start = Nanoseconds{0}) : now_ns_(start.count()) {}
  Nanoseconds Now() const override { return Nanoseconds{now_ns_.load()}; }
  Nanoseconds WallTime() const override { return Now(); }
  void Advance(Nanoseconds by) { now_ns_ += by.count(); }

 private:
  std::atomic<int64_t> now_ns_;
};

}  // namespace interlude
