#include "ledger/clock_probe.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace interlude {

bool ClockProbe::IsPossible() const {
  constexpr int64_t kLatestNs = int64_t{1} << 60;  // sums of three such times fit into 64 bits
  const auto possible = [](int64_t begin, int64_t end) {
    return begin >= 0 && begin <= end && end <= kLatestNs;
  };
  return possible(sent_ns, returned_ns) && possible(received_ns, replied_ns) &&
         round_trip_ns() >= 0;
}

void KeepQuickest(std::vector<ClockProbe>& probes, size_t most) {
  std::erase_if(probes, [](const ClockProbe& probe) { return !probe.IsPossible(); });
  while (probes.size() > std::max<size_t>(1, most)) {
    size_t kept = 0;
    for (size_t i = 0; i < probes.size(); i += 2) {
      const bool second =
          i + 1 < probes.size() && probes[i + 1].round_trip_ns() < probes[i].round_trip_ns();
      probes[kept++] = probes[second ? i + 1 : i];
    }
    probes.resize(kept);
  }
}

int64_t ClockEstimate::ToCoordinator(int64_t worker_ns) const {
  using Wide = __int128;  // differences and sums of any two numbers of the wire fit
  constexpr double kMost = 0x1p62;
  const double gained = drift * static_cast<double>(Wide{worker_ns} - at_ns);
  const Wide sum = Wide{worker_ns} + offset_ns +
                   (std::isfinite(gained) ? std::llround(std::clamp(gained, -kMost, kMost)) : 0);
  return static_cast<int64_t>(std::clamp<Wide>(sum, std::numeric_limits<int64_t>::min(),
                                               std::numeric_limits<int64_t>::max()));
}

}  // namespace interlude
