// Whether this process keeps an account. It always does, but where somebody measures what the
// account costs: against runs without it. Any thread.
#pragma once

namespace interlude {
namespace internal {

bool ReadRecordingSwitch();

}  // namespace internal

/// With INTERLUDE_WITHOUT_ACCOUNT=1 in the environment no spans, stamps, samples and clock probes
/// are taken, and so none are sent and stored; rounds are. Read once, and said in the log then.
inline bool RecordingIsOn() {
  static const bool on = internal::ReadRecordingSwitch();
  return on;
}

}  // namespace interlude
