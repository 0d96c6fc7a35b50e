// Connections to the coordinator: one for control, one for bulk data, so that a full pipe of chunks
// never delays a heartbeat, and one for clock probes, which nothing may delay.
#pragma once

#include <grpcpp/channel.h>

#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "wire/transport_keys.h"

namespace interlude {

struct Channels {
  std::shared_ptr<grpc::Channel> control;
  std::shared_ptr<grpc::Channel> bulk;
  std::shared_ptr<grpc::Channel> clock;
};

/// Opens them and waits until the control connection stands. `keys` as in WorkerOptions; null:
/// plain text. Unavailable, saying what to check, when it does not within `timeout` (real time);
/// Unauthenticated at once where trying again won't help; Cancelled when `stop` returns true
/// before. The others are made on first use.
StatusOr<Channels> Connect(const std::string& address, const TransportKeys* keys,
                           Nanoseconds timeout, const std::function<bool()>& stop);

}  // namespace interlude
