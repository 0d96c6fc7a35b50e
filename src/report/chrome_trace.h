// A trace as JSON in the Trace Event Format, for chrome://tracing and other viewers that read it.
// Times are microseconds on the coordinator's clock. One thread.
#pragma once

#include <memory>
#include <ostream>

#include "report/trace_sink.h"

namespace interlude {

/// Events go to `out` one by one; only the ends of flows are kept until Finish. Whether all was
/// written is `out`'s state after Finish.
std::unique_ptr<TraceSink> MakeChromeSink(std::ostream& out);

}  // namespace interlude
