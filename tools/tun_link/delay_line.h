// One direction of a line between two machines: what enters is lost by chance, waits for its turn
// at the line's rate, and comes out after the delay. Knows neither devices nor a clock; one thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "base/rng.h"

namespace interlude {

struct LineSettings {
  std::chrono::nanoseconds delay{0};  // one way
  double rate_mbit = 0;               // 10^6 bits of IP packets a second; 0: no limit
  std::chrono::nanoseconds queue = std::chrono::milliseconds(50);  // longest wait for a turn
  double loss = 0;  // probability with which each packet is lost, on its own
};

class DelayLine {
 public:
  using Packet = std::vector<char>;
  using Nanoseconds = std::chrono::nanoseconds;

  /// The same seed and packets: the same losses.
  DelayLine(const LineSettings& settings, uint64_t seed) : settings_(settings), rng_(seed) {}

  /// Takes in a packet that arrives at `now`, which never goes back. It may be dropped.
  void Enter(Nanoseconds now, Packet packet) {
    ++counts_.entered;
    counts_.entered_bytes += packet.size();
    if (silent_) {
      ++counts_.silenced;
      return;
    }
    if (settings_.loss > 0 && static_cast<double>(rng_.Uniform()) < settings_.loss) {
      ++counts_.lost;
      return;
    }
    const Nanoseconds begin = std::max(free_at_, now);
    if (begin - now > settings_.queue) {
      ++counts_.overflowed;
      return;
    }
    free_at_ = begin + TimeOf(packet.size());
    under_way_.push_back({free_at_ + settings_.delay, std::move(packet)});
  }

  /// Whether a packet is to come out at or before `now`; Leave() then gives it.
  bool Due(Nanoseconds now) const { return !under_way_.empty() && under_way_.front().at <= now; }
  /// Only when Due().
  Packet Leave() {
    Packet packet = std::move(under_way_.front().packet);
    under_way_.pop_front();
    return packet;
  }
  /// When the next packet comes out; the largest time when there is none.
  Nanoseconds NextDue() const {
    return under_way_.empty() ? Nanoseconds::max() : under_way_.front().at;
  }

  /// While silent nothing passes; what is under way when it begins is gone.
  void SetSilent(bool silent) {
    silent_ = silent;
    if (!silent) return;
    counts_.silenced += under_way_.size();
    under_way_.clear();
  }
  void SetLoss(double loss) { settings_.loss = loss; }
  /// For what enters from now on; packets never overtake each other.
  void SetRate(double mbit) { settings_.rate_mbit = mbit; }
  void SetDelay(Nanoseconds delay) { settings_.delay = delay; }

  struct Counts {
    uint64_t entered = 0, entered_bytes = 0;
    uint64_t lost = 0, overflowed = 0, silenced = 0;
  };
  const Counts& counts() const { return counts_; }

 private:
  struct UnderWay {
    Nanoseconds at;
    Packet packet;
  };

  Nanoseconds TimeOf(size_t bytes) const {
    if (settings_.rate_mbit <= 0) return Nanoseconds{0};
    return Nanoseconds(
        static_cast<int64_t>(static_cast<double>(bytes) * 8000 / settings_.rate_mbit));
  }

  LineSettings settings_;
  Rng rng_;
  bool silent_ = false;
  Nanoseconds free_at_{0};  // when the line has sent all that entered so far
  std::deque<UnderWay> under_way_;
  Counts counts_;
};

}  // namespace interlude
