// A worker's part of a round's graph. Internal to round_graph.cc and its neighbours; one thread at
// a time.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <optional>
#include <span>
#include <vector>

#include "analysis/graph_parts.h"
#include "analysis/round_clock.h"
#include "analysis/round_records.h"

namespace interlude {

/// What has been added of one worker: its own activities and those about it.
struct WorkerParts {
  explicit WorkerParts(std::pmr::memory_resource* memory)
      : encoded(memory),
        called(memory),
        uploaded(memory),
        received(memory),
        sent(memory),
        downloaded(memory),
        applied(memory) {}

  int32_t worker = 0;
  bool barrier = false;
  int32_t threads = 0;              // of its pool; 0: not known
  std::optional<PoolThreads> pool;  // encodes and applies
  MaybeActivity ledger;             // what the coordinator did before its round could begin
  MaybeActivity trained;            // the last before the exchange
  Stage encoded, called, uploaded, received;
  Stage sent, downloaded, applied;
  MaybeActivity verified, reported;
};

// `times` are on the coordinator's clock, all of them.

/// From the start message to the end of training, then each chunk encoded and uploaded.
/// `parts.ledger` stands.
void AddWayUp(const PhaseTimes& times, GraphBuilder& builder, WorkerParts& parts);

/// Each chunk applied, then verified. `parts.downloaded` stands.
void AddWayDown(const PhaseTimes& times, GraphBuilder& builder, WorkerParts& parts);

/// A link between `parts.worker` and the coordinator, one stream that keeps the order.
struct LinkEnds {
  ActivityKind on_the_way = ActivityKind::kLinkUp;
  ActivityKind from_nowhere = ActivityKind::kReceive;  // no record says when it was sent
  int32_t receiver_clock = kNoWorker;
  const Stage* sent = nullptr;
  std::span<const ChunkStamp> received;  // in order of their ends
  Stage* into = nullptr;
};

/// What each chunk's last byte took from the sender to the receiver. The smallest time that any
/// chunk took is the flight, which chunks make side by side; what is above it stands behind the
/// chunk before, so that a full link is a chain and a long one is not. A chunk from nowhere begins
/// with its first byte, after `otherwise`.
void AddLink(const LinkEnds& link, MaybeActivity otherwise, GraphBuilder& builder,
             const WorkerParts& parts);

}  // namespace interlude
