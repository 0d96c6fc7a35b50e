// Whether this process keeps an account. It always does, but where somebody measures what the
// account costs: against runs without it. Any thread.
#pragma once

#include <cstdlib>

namespace interlude {

/// With the environment variable INTERLUDE_WITHOUT_ACCOUNT no spans, stamps, samples and clock
/// probes are taken, and so none are sent and stored; rounds are. Read once.
inline bool RecordingIsOn() {
  static const bool on = std::getenv("INTERLUDE_WITHOUT_ACCOUNT") == nullptr;
  return on;
}

}  // namespace interlude
