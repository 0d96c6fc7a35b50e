#include "bench/exchange_bytes.h"

#include "codec/chunk_codec.h"

namespace interlude {
namespace {

// Of a process whatever the model: program, threads, messages on their way.
constexpr uint64_t kProcessMemory = uint64_t{160} << 20;
constexpr uint64_t kJournalRounds = 2;

Codec CodecIn(const RunConfig& config) {
  return static_cast<Codec>(config.round.codec);  // the numbers are the same
}

uint64_t ArrayBytes(const RunConfig& config) {
  return config.model.synthetic_params * sizeof(float);
}

/// fp32 arrays that the outer optimizer keeps.
uint64_t StateArrays(const RunConfig& config) {
  switch (config.outer.optimizer) {
    case OuterOptimizerKind::kSgd:
      return 0;
    case OuterOptimizerKind::kNesterov:
      return 1;
    case OuterOptimizerKind::kAdam:
      return 2;
  }
  return 0;
}

/// Base, state, residual.
uint64_t CoordinatorArrays(const RunConfig& config) {
  return 1 + StateArrays(config) + (IsLossy(CodecIn(config)) ? 1 : 0);
}

}  // namespace

uint64_t ModelPayloadBytes(const RunConfig& config) {
  const uint64_t params = config.model.synthetic_params;
  const uint64_t chunk = config.round.chunk_params;
  const uint64_t whole = params / chunk;
  const uint64_t rest = params % chunk;
  return whole * EncodedBytes(CodecIn(config), chunk) +
         (rest > 0 ? EncodedBytes(CodecIn(config), rest) : 0);
}

std::vector<TouchedBytes> ExchangeBytes(const RunConfig& config, uint32_t workers) {
  const uint64_t n = workers;
  const uint64_t p = ArrayBytes(config);
  const uint64_t e = ModelPayloadBytes(config);
  const uint64_t arrays = CoordinatorArrays(config);
  const uint64_t kept = config.round.error_feedback ? p : 0;
  return {
      {"encode", "each worker: read parameters, base; write payload", n * (2 * p + kept),
       n * (e + kept)},
      {"upload", "each payload: to the kernel, from it, to the journal", n * 3 * e, n * 3 * e},
      {"merge", "read payloads, base, state, residual; write the three, sync", n * e + arrays * p,
       e + arrays * p},
      {"download", "each worker: sync to the kernel, from it", n * 2 * e, n * 2 * e},
      {"apply", "each worker: read base, sync; write base, parameters", n * (p + e), n * 2 * p}};
}

uint64_t SumOf(const std::vector<TouchedBytes>& stages) {
  uint64_t sum = 0;
  for (const TouchedBytes& stage : stages) sum += stage.total();
  return sum;
}

ExchangeNeeds NeedsOf(const RunConfig& config, uint32_t workers) {
  const uint64_t p = ArrayBytes(config);
  const uint64_t e = ModelPayloadBytes(config);
  const bool barrier = config.round.exchange == ExchangeMode::kBarrier;
  const bool saves = config.round.persistence == PersistenceMode::kEveryRound;
  ExchangeNeeds needs;
  needs.coordinator_memory = CoordinatorArrays(config) * p + kProcessMemory;
  needs.worker_memory =
      (config.round.error_feedback ? 3 : 2) * p + (barrier ? 2 : 1) * e + kProcessMemory;
  // The final model, and with a save every round the newest save and the one that replaces it.
  needs.disk = kJournalRounds * (workers + 1) * e + (saves ? 3 : 1) * p;
  return needs;
}

}  // namespace interlude
