#include "ledger/clock_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace interlude {
namespace {

/// What one probe proves: at the moment `at` the offset lies in [low, high].
struct Proof {
  double at = 0;
  double low = 0;
  double high = 0;
  bool waited = false;  // its thread, for a CPU
};

/// Proofs that do not contradict each other. Their numbers are nanoseconds from the first probe's,
/// which keeps them small enough for a double.
struct Epoch {
  int64_t at_ns = 0;
  int64_t offset_ns = 0;
  std::vector<Proof> proofs;  // in the order of their times
};

/// offset = at_zero + slope * at.
struct Line {
  double at_zero = 0;
  double slope = 0;
};

int64_t MiddleNs(const ClockProbe& probe) {
  return probe.sent_ns + (probe.returned_ns - probe.sent_ns) / 2;
}

/// It was sent before it was received: the offset, when it was sent, was at most received - sent.
/// In the same way it was at least replied - returned when it came back. Both bounds are brought to
/// the middle of the probe, for which they are widened by what the clocks may have drifted
/// meanwhile.
Proof ProofOf(const ClockProbe& probe, const Epoch& epoch) {
  const double widening =
      kMostClockDrift * (static_cast<double>(probe.returned_ns - probe.sent_ns) / 2 + 1);
  return {
      .at = static_cast<double>(MiddleNs(probe) - epoch.at_ns),
      .low = static_cast<double>(probe.replied_ns - probe.returned_ns - epoch.offset_ns) - widening,
      .high = static_cast<double>(probe.received_ns - probe.sent_ns - epoch.offset_ns) + widening,
      .waited = probe.run_delay_ns > kMostRunDelayNs};
}

/// What proofs leave open of the offset at one moment.
struct Open {
  double at = 0;
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();

  void Take(const Proof& proof) {
    const double age = kMostClockDrift * std::abs(at - proof.at);
    low = std::max(low, proof.low - age);
    high = std::min(high, proof.high + age);
  }
  void MoveTo(double moment) {
    const double age = kMostClockDrift * std::abs(moment - at);
    *this = {.at = moment, .low = low - age, .high = high + age};
  }
  bool Contradicts(const Proof& proof) const { return proof.low > high || proof.high < low; }
};

Epoch BeginEpoch(const ClockProbe& probe) {
  return {.at_ns = MiddleNs(probe), .offset_ns = probe.received_ns - probe.sent_ns, .proofs = {}};
}

/// A probe whose thread waited for a CPU says nothing; it stays as a moment that is covered.
void LeaveOutWaiting(std::vector<Proof>& proofs) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (std::ranges::all_of(proofs, &Proof::waited)) return;
  for (Proof& proof : proofs) {
    if (!proof.waited) continue;
    proof.low = -kInfinity;
    proof.high = kInfinity;
  }
}

uint32_t Counting(const std::vector<Proof>& proofs) {
  return static_cast<uint32_t>(
      std::ranges::count_if(proofs, [](const Proof& proof) { return std::isfinite(proof.low); }));
}

/// A probe that no drift reconciles with the ones before begins an epoch: one of the two clocks is
/// another machine's now, or its machine has started again.
std::vector<Epoch> SplitEpochs(std::span<const ClockProbe> probes) {
  std::vector<Epoch> epochs;
  Open open;
  for (const ClockProbe& probe : probes) {
    if (!probe.IsPossible()) continue;
    if (epochs.empty()) epochs.push_back(BeginEpoch(probe));
    Proof proof = ProofOf(probe, epochs.back());
    open.MoveTo(proof.at);
    if (open.Contradicts(proof)) {
      epochs.push_back(BeginEpoch(probe));
      proof = ProofOf(probe, epochs.back());
      open = {};
      open.at = proof.at;
    }
    open.Take(proof);
    epochs.back().proofs.push_back(proof);
  }
  for (Epoch& epoch : epochs) {
    std::vector<Proof>& proofs = epoch.proofs;
    const auto earlier = [](const Proof& one, const Proof& two) { return one.at < two.at; };
    if (!std::ranges::is_sorted(proofs, earlier)) std::ranges::stable_sort(proofs, earlier);
    LeaveOutWaiting(proofs);
  }
  return epochs;
}

double FromEpoch(int64_t at_ns, const Epoch& epoch) {
  return static_cast<double>(__int128{at_ns} - epoch.at_ns);
}

/// The newest of those whose probes come nearest to the moment.
const Epoch& EpochAt(const std::vector<Epoch>& epochs, int64_t at_ns) {
  const auto distance = [at_ns](const Epoch& epoch) {
    const double at = FromEpoch(at_ns, epoch);
    return std::max({epoch.proofs.front().at - at, at - epoch.proofs.back().at, 0.0});
  };
  return *std::min_element(epochs.rbegin(), epochs.rend(), [&](const Epoch& one, const Epoch& two) {
    return distance(one) < distance(two);
  });
}

int64_t RoundUp(double ns) { return std::llround(std::ceil(std::clamp(ns, 0.0, 0x1p61))); }
int64_t Round(double ns) { return std::llround(std::clamp(ns, -0x1p61, 0x1p61)); }

/// The line of this slope that lies highest under all `high`, and the lowest over all `low`. Each
/// touches one point, and turns around it as the slope grows.
struct Touching {
  explicit Touching(const std::vector<Proof>& proofs, double slope) {
    for (const Proof& proof : proofs) {
      const double high_at_zero = proof.high - slope * proof.at;
      const double low_at_zero = proof.low - slope * proof.at;
      if (high_at_zero < high) {
        high = high_at_zero;
        at_high = proof.at;
      }
      if (low_at_zero > low) {
        low = low_at_zero;
        at_low = proof.at;
      }
    }
  }
  /// By how much the two come apart as the slope grows; negative when they come together.
  double gain() const { return at_low - at_high; }

  double high = std::numeric_limits<double>::infinity();
  double low = -std::numeric_limits<double>::infinity();
  double at_high = 0;
  double at_low = 0;
};

/// The line that keeps the largest distance to all bounds; of several the one that drifts least.
/// The distance as a function of the slope has one summit, so its slope can be halved in.
Line FitLine(const std::vector<Proof>& proofs) {
  const double direction = Touching(proofs, 0).gain();
  double below = 0;
  double beyond = std::copysign(kMostClockDrift, direction);
  if (direction == 0) {
    beyond = 0;
  } else if (Touching(proofs, beyond).gain() * direction > 0) {
    below = beyond;  // the summit lies where no clock goes
  }
  for (int halvings = 0; below != beyond && halvings < 60; ++halvings) {
    const double middle = (below + beyond) / 2;
    (Touching(proofs, middle).gain() * direction > 0 ? below : beyond) = middle;
  }
  const Touching touching(proofs, below);
  return {.at_zero = (touching.low + touching.high) / 2, .slope = below};
}

/// How far above `line` the offset can lie at any moment from the first proof to the last: each
/// proof's bound holds at its moment, and rises by kMostClockDrift with the distance from it. With
/// `sign` -1 the same below the line.
double MostBeyond(const std::vector<Proof>& proofs, const Line& line, int sign) {
  const auto bound = [&](size_t i) { return sign > 0 ? proofs[i].high : -proofs[i].low; };
  const size_t count = proofs.size();
  std::vector<double> open(count);  // the least of all bounds, at each proof's moment
  for (size_t i = 0; i < count; ++i) {
    open[i] = bound(i);
    if (i > 0)
      open[i] =
          std::min(open[i], open[i - 1] + kMostClockDrift * (proofs[i].at - proofs[i - 1].at));
  }
  double most = 0;
  for (size_t i = count; i-- > 0;) {
    const auto beyond = [&](double at, double value) {
      most = std::max(most, value - sign * (line.at_zero + line.slope * at));
    };
    if (i + 1 < count) {
      const double gap = proofs[i + 1].at - proofs[i].at;
      open[i] = std::min(open[i], open[i + 1] + kMostClockDrift * gap);
      // What rises from the left meets what rises from the right.
      const double rise = (open[i + 1] - open[i] + kMostClockDrift * gap) / 2;
      beyond(proofs[i].at + rise / kMostClockDrift, open[i] + rise);
    }
    beyond(proofs[i].at, open[i]);
  }
  return most;
}

ClockEstimate Envelope(const Epoch& epoch, int32_t worker) {
  const std::vector<Proof>& proofs = epoch.proofs;
  const Line line = FitLine(proofs);
  const int64_t middle_ns = Round((proofs.front().at + proofs.back().at) / 2);
  const double offset = line.at_zero + line.slope * static_cast<double>(middle_ns);
  const double open = std::max(MostBeyond(proofs, line, 1), MostBeyond(proofs, line, -1));
  return {.worker = worker,
          .method = ClockMethod::kEnvelope,
          .at_ns = epoch.at_ns + middle_ns,
          .offset_ns = epoch.offset_ns + Round(offset),
          .drift = line.slope,
          .error_ns = RoundUp(open) + 1,  // the offset, and what it is added to, are rounded
          .probes = Counting(proofs)};
}

ClockEstimate None(std::span<const ClockProbe> probes) {
  return {.worker = probes.empty() ? kNoWorker : probes.front().worker};
}

}  // namespace

ClockEstimate EstimateMinimum(std::span<const ClockProbe> probes, int64_t at_ns) {
  ClockEstimate estimate = None(probes);
  const std::vector<Epoch> epochs = SplitEpochs(probes);
  if (epochs.empty()) return estimate;
  const Epoch& epoch = EpochAt(epochs, at_ns);
  Open open{.at = FromEpoch(at_ns, epoch)};
  for (const Proof& proof : epoch.proofs) open.Take(proof);
  estimate.method = ClockMethod::kMinimum;
  estimate.at_ns = at_ns;
  estimate.offset_ns = epoch.offset_ns + Round((open.low + open.high) / 2);
  estimate.error_ns = RoundUp((open.high - open.low) / 2) + 1;
  estimate.probes = Counting(epoch.proofs);
  return estimate;
}

ClockEstimate FitEnvelope(std::span<const ClockProbe> probes) {
  const std::vector<Epoch> epochs = SplitEpochs(probes);
  return epochs.empty() ? None(probes) : Envelope(epochs.back(), probes.front().worker);
}

}  // namespace interlude
