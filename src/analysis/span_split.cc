#include "analysis/span_split.h"

#include <algorithm>

namespace interlude {
namespace {

constexpr int64_t kLongest = int64_t{1} << 55;  // 416 days: sums over phases stay in range

int64_t Sane(__int128 ns) { return static_cast<int64_t>(std::clamp<__int128>(ns, 0, kLongest)); }

/// part / whole of `of`, rounded down; whole > 0.
int64_t Scaled(int64_t of, int64_t part, __int128 whole) {
  return static_cast<int64_t>(static_cast<__int128>(of) * part / whole);
}

}  // namespace

SpanSplit& SpanSplit::operator+=(const SpanSplit& other) {
  on_cpu_ns = Sane(static_cast<__int128>(on_cpu_ns) + other.on_cpu_ns);
  run_delay_ns = Sane(static_cast<__int128>(run_delay_ns) + other.run_delay_ns);
  blocked_ns = Sane(static_cast<__int128>(blocked_ns) + other.blocked_ns);
  between_ns = Sane(static_cast<__int128>(between_ns) + other.between_ns);
  return *this;
}

SpanSplit SplitSpan(const Span& span) {
  SpanSplit split;
  const int64_t inside = Sane(static_cast<__int128>(span.end_ns) - span.begin_ns);
  const int64_t busy = std::min(Sane(span.busy_ns), inside);
  split.between_ns = inside - busy;
  const int64_t delay = Sane(span.run_delay_ns);
  int64_t cpu = Sane(span.cpu_ns);
  int64_t blocked = Sane(span.blocked_ns);
  if (ChargesWholeProcess(span.phase)) {
    // One thread: what it did not wait it ran, as far as any thread of the process ran.
    cpu = std::min(cpu, Sane(static_cast<__int128>(busy) - delay - blocked));
  }
  const __int128 recorded = static_cast<__int128>(cpu) + delay + blocked;
  if (recorded <= busy) {
    split.on_cpu_ns = cpu;
    split.run_delay_ns = delay;
    split.blocked_ns = busy - cpu - delay;
    return split;
  }
  split.run_delay_ns = Scaled(busy, delay, recorded);
  split.blocked_ns = Scaled(busy, blocked, recorded);
  split.on_cpu_ns = busy - split.run_delay_ns - split.blocked_ns;
  return split;
}

}  // namespace interlude
