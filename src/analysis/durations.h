// Nanoseconds of one clock to seconds, safe for any values a database may hold.
#pragma once

#include <cstdint>

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

}  // namespace interlude
