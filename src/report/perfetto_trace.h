// A trace in Perfetto's own format (protobuf), for its UI. Every time is written as its process
// took it; ClockSnapshot packets tell Perfetto how each worker's clock stands to the coordinator's.
// One thread.
#pragma once

#include <memory>
#include <ostream>

#include "report/trace_sink.h"

namespace interlude {

/// Packets go to `out` one by one. Whether all were written is `out`'s state after Finish.
std::unique_ptr<TraceSink> MakePerfettoSink(std::ostream& out);

}  // namespace interlude
