#include "doctor/model_need.h"

#include "codec/chunk_codec.h"
#include "config/run_config.h"

namespace interlude {

uint64_t PayloadBytes(uint64_t params) { return EncodedBytes(Codec::kQ4, params); }

uint64_t WorkerMemoryBytes(uint64_t params) { return 20 * params + PayloadBytes(params); }

uint64_t CoordinatorDiskBytes(uint64_t params, uint32_t workers) {
  const RoundConfig round = RunConfig().round;
  const uint64_t kept_rounds = 2 * uint64_t{round.snapshot_every} + 2;  // StorageOf
  const uint64_t payloads = kept_rounds * workers + round.retained_syncs + 1;
  constexpr uint64_t kSnapshots = 3;
  constexpr uint64_t kSnapshotBytes = 12;  // base, momentum, residual
  constexpr uint64_t kModelBytes = 4;
  return payloads * PayloadBytes(params) + (kSnapshots * kSnapshotBytes + kModelBytes) * params;
}

}  // namespace interlude
