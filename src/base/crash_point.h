// Places at which a test can have the process killed, as kill -9 would: with INTERLUDE_CRASH_AT=N
// in the environment the N-th place that is passed is the last one. Without it nothing happens.
#pragma once

namespace interlude {

/// Any thread. Costs a load when nothing is to happen.
void CrashPoint();

}  // namespace interlude
