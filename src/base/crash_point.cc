#include "base/crash_point.h"

#include <signal.h>

#include <atomic>
#include <cstdlib>

namespace interlude {
namespace {

/// Places still to be passed; 0 or less: nobody counts.
std::atomic<long>& Left() {
  static std::atomic<long> left = [] {
    const char* text = std::getenv("INTERLUDE_CRASH_AT");
    return text == nullptr ? 0 : std::atol(text);
  }();
  return left;
}

}  // namespace

void CrashPoint() {
  if (Left().load(std::memory_order_relaxed) <= 0) return;
  if (Left().fetch_sub(1) == 1) raise(SIGKILL);
}

}  // namespace interlude
