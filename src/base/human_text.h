// Numbers for people, the same in every text: times, amounts, counts. Plain ASCII. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace interlude {

/// "40 us", "2.8 ms", "64.0 ms", "350 ms", "3.08 s", "108.1 s", "1 h 02 min": as many digits as
/// help. "0 ms" for nothing and less.
std::string HumanSeconds(double seconds);
/// HumanSeconds of nanoseconds.
std::string HumanNs(int64_t ns);
/// "310 bytes", "12.3 kB", "0.45 MB", "335.7 MB", "1.20 GB" (powers of ten).
std::string HumanBytes(double bytes);
/// "184,320".
std::string HumanCount(double number);
/// "1 chunk", "3 chunks", "184,320 samples".
std::string Count(double number, std::string_view word);

}  // namespace interlude
