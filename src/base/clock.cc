#include "base/clock.h"

namespace interlude {
namespace {

class RealClock final : public Clock {
 public:
  Nanoseconds Now() const override {
    return std::chrono::duration_cast<Nanoseconds>(
        std::chrono::steady_clock::now().time_since_epoch());
  }
  Nanoseconds WallTime() const override {
    return std::chrono::duration_cast<Nanoseconds>(
        std::chrono::system_clock::now().time_since_epoch());
  }
};

}  // namespace

const Clock& SystemClock() {
  static const RealClock clock;
  return clock;
}

}  // namespace interlude
