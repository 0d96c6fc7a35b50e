// The network: how the kernel is set, and what the way to the coordinator carries.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "doctor/check.h"
#include "doctor/memory_checks.h"
#include "doctor/model_need.h"
#include "worker/link_figures.h"

namespace interlude {

/// From this round trip on a line counts as far: losses cost a loss-based congestion control its
/// speed, since it takes round trips to get it back.
inline constexpr double kFarSeconds = 0.005;

struct TcpReading {
  std::optional<uint64_t> send_buffer_bytes;     // the most that the kernel lets one grow to
  std::optional<uint64_t> receive_buffer_bytes;  // likewise
  std::string congestion_control;                // empty: not known
  std::vector<std::string> available;            // that this user may have without loading a module
};

TcpReading ReadTcp(const std::string& root);

/// `link`: nothing where no coordinator was named or it could not be reached.
Checks CheckTcp(const TcpReading& reading, const std::optional<LinkFigures>& link);

/// What was measured, or why nothing was; and what a round's exchange takes over it.
Checks CheckLink(const StatusOr<LinkFigures>& link, const Job& job,
                 const std::optional<CodecSeconds>& codec);

}  // namespace interlude
