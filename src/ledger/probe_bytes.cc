#include "ledger/probe_bytes.h"

#include <array>
#include <cstdint>

#include "ledger/leb128.h"

namespace interlude {
namespace {

/// Of a probe, modulo 2^64: nearly the same from one probe to the next.
using Figures = std::array<uint64_t, 5>;

Figures FiguresOf(const ClockProbe& probe, uint64_t last_sent) {
  const auto sent = static_cast<uint64_t>(probe.sent_ns);
  const auto received = static_cast<uint64_t>(probe.received_ns);
  return {sent - last_sent, received - sent, static_cast<uint64_t>(probe.replied_ns) - received,
          static_cast<uint64_t>(probe.returned_ns) - sent,
          static_cast<uint64_t>(probe.run_delay_ns)};
}

ClockProbe ProbeOf(int32_t worker, const Figures& figures, uint64_t last_sent) {
  const uint64_t sent = last_sent + figures[0];
  const uint64_t received = sent + figures[1];
  return {worker,
          static_cast<int64_t>(sent),
          static_cast<int64_t>(received),
          static_cast<int64_t>(received + figures[2]),
          static_cast<int64_t>(sent + figures[3]),
          static_cast<int64_t>(figures[4])};
}

}  // namespace

std::string EncodeProbes(std::span<const ClockProbe> probes) {
  std::string bytes;
  Figures last{};
  uint64_t last_sent = 0;
  for (const ClockProbe& probe : probes) {
    const Figures figures = FiguresOf(probe, last_sent);
    for (size_t i = 0; i < figures.size(); ++i)
      PutLeb128(ZigZag(static_cast<int64_t>(figures[i] - last[i])), bytes);
    last = figures;
    last_sent = static_cast<uint64_t>(probe.sent_ns);
  }
  return bytes;
}

StatusOr<std::vector<ClockProbe>> DecodeProbes(int32_t worker, std::string_view bytes) {
  std::vector<ClockProbe> probes;
  Figures figures{};
  uint64_t last_sent = 0;
  while (!bytes.empty()) {
    for (uint64_t& figure : figures) {
      uint64_t difference = 0;
      const std::string_view wrong = TakeLeb128(bytes, difference);
      if (!wrong.empty()) return InvalidArgumentError("clock probes {}", wrong);
      figure += static_cast<uint64_t>(UnZigZag(difference));
    }
    probes.push_back(ProbeOf(worker, figures, last_sent));
    last_sent = static_cast<uint64_t>(probes.back().sent_ns);
  }
  return probes;
}

}  // namespace interlude
