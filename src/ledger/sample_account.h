// What each process of the sample run records: spans, chunk stamps, samples, memory and clock
// probes. Internal to the sample run.
#pragma once

#include "ledger/account.h"

namespace interlude::internal {

inline constexpr uint64_t kBaseBytes = 1'000'000;
inline constexpr uint64_t kPayloadBytes = 132'813;  // 250,000 parameters at 4.25 bits

/// Models made ready and the first base shared.
Account PreparationAccount();
/// All that belongs to a round, of all processes.
Account RoundAccount(uint32_t round);
/// What is sampled between two moments of the coordinator's clock: samples, memory, clock probes.
Account HostAccount(int64_t begin_ns, int64_t end_ns);
/// The evaluation after the last round.
Account LastAccount();

}  // namespace interlude::internal
