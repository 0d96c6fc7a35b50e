// The yardstick of transport and exchange: one plain TCP connection over loopback.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>

#include "base/status.h"

namespace interlude {

/// Sends `from` to `to`, which has its size, with writes and reads of at most 1 MiB; a thread is
/// the sending end. The time from the first write to the last read; connecting is not in it.
StatusOr<std::chrono::duration<double>> TimeRawTcp(std::span<const std::byte> from,
                                                   std::span<std::byte> to);

}  // namespace interlude
