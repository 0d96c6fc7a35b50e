// What spans say in seconds: lengths, and what the exchange of a round took. Safe for any values
// that a database or a worker may hold. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "ledger/span.h"

namespace interlude {

inline double Seconds(int64_t ns) { return static_cast<double>(ns) / 1e9; }

/// later - earlier in seconds; the difference is exact before it is rounded to double.
inline double SecondsBetween(int64_t earlier_ns, int64_t later_ns) {
  return static_cast<double>(static_cast<__int128>(later_ns) - earlier_ns) / 1e9;
}

inline double InsideSeconds(const Span& span) { return SecondsBetween(span.begin_ns, span.end_ns); }

/// False for a span that ended before it began.
inline bool IsPossible(const Span& span) { return span.end_ns >= span.begin_ns; }

/// True for encode, upload, wait, download, apply and verify.
bool IsExchangePhase(Phase phase);

/// What the exchange took, by worker: from the end of its local steps to the end of its last
/// exchange phase, both on that worker's clock. `spans` are of one round, in any order. A worker is
/// absent when it recorded no training, did not come to verify, or failed in one of the phases. Of
/// a round that a worker trained for twice, the second time counts. The view round_summary of
/// run.db computes the same in SQL.
///
/// A worker that trained for a shorter time waits within its exchange for the slower ones, so the
/// round's own figure is the smallest.
std::map<int32_t, double> ExchangeSecondsByWorker(std::span<const Span> spans);

}  // namespace interlude
