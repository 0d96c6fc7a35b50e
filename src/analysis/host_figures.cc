#include "analysis/host_figures.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "analysis/span_split.h"

namespace interlude {
namespace {

constexpr int64_t kLongest = int64_t{1} << 60;

using S = ProcessSample;
using H = HostFigures;

bool IsWork(Phase phase) {
  switch (phase) {
    case Phase::kTrain:
    case Phase::kEncode:
    case Phase::kApply:
    case Phase::kVerify:
    case Phase::kEvaluate:
    case Phase::kPrepare:
      return true;
    default:
      return false;
  }
}

bool IsUpload(Phase phase) { return phase == Phase::kUpload || phase == Phase::kShareBase; }

/// Neither a wait for others, nor what training has counted already, nor a span that cannot be.
bool Counts(const Span& span) {
  return span.end_ns > span.begin_ns && span.phase != Phase::kWait &&
         span.phase != Phase::kAwaitRound && span.phase != Phase::kLoad;
}

double Length(int64_t begin, int64_t end) {
  return std::max(0.0, static_cast<double>(end) - static_cast<double>(begin));
}

/// Of a span or a piece of one.
template <typename T>
double Overlap(const T& span, int64_t begin, int64_t end) {
  return Length(std::max(span.begin_ns, begin), std::min(span.end_ns, end));
}

int64_t BeginOf(const ProcessSample& sample) {
  return static_cast<int64_t>(static_cast<__int128>(sample.at_ns) -
                              std::max<int64_t>(0, sample.interval_ns));
}

bool IsUsable(const ProcessSample& sample) {
  return sample.interval_ns > 0 && sample.at_ns > 0 && sample.interval_ns <= sample.at_ns;
}

struct Edge {
  int64_t at_ns;
  bool begins;
  double rate;
};

/// The integral over time of the largest rate.
double IntegralOfLargest(std::vector<Edge> edges) {
  // At the same moment beginnings first: a span may end where it begins.
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) {
    return a.at_ns != b.at_ns ? a.at_ns < b.at_ns : a.begins && !b.begins;
  });
  std::multiset<double> rates;
  double sum = 0;
  for (size_t i = 0; i < edges.size(); ++i) {
    if (!rates.empty()) sum += Length(edges[i - 1].at_ns, edges[i].at_ns) * *rates.rbegin();
    if (edges[i].begins) {
      rates.insert(edges[i].rate);
    } else {
      rates.erase(rates.find(edges[i].rate));
    }
  }
  return sum;
}

template <int64_t S::*figure>
int64_t Get(const S& sample) {
  return sample.*figure;
}

int64_t OthersCpu(const S& sample) {
  if (sample.machine_busy_ns < 0 || sample.cpu_ns < 0) return kUnknownFigure;
  return std::max<int64_t>(0, sample.machine_busy_ns - sample.cpu_ns);
}

int64_t Rounded(double value) { return std::llround(std::clamp(value, 0.0, 0x1p60)); }

}  // namespace

const ProcessHistory::Rule ProcessHistory::kRules[] = {
    {Get<&S::machine_busy_ns>, &H::machine_busy_ns, kTime},
    {Get<&S::steal_ns>, &H::steal_ns, kTime},
    {OthersCpu, &H::others_cpu_ns, kWaiting},
    {Get<&S::throttled_ns>, &H::throttled_ns, kWaiting},
    {Get<&S::major_faults>, &H::major_faults, kSleeping},
    {Get<&S::disk_read_bytes>, &H::disk_read_bytes, kSleeping},
    {Get<&S::disk_write_bytes>, &H::disk_write_bytes, kSleeping},
    {Get<&S::memory_some_ns>, &H::memory_some_ns, kSleeping},
    {Get<&S::io_some_ns>, &H::io_some_ns, kSleeping},
    {Get<&S::tcp_sent_bytes>, &H::tcp_sent_bytes, kUpload},
    {Get<&S::tcp_retransmitted_bytes>, &H::tcp_retransmitted_bytes, kUpload},
    {Get<&S::tcp_busy_ns>, &H::tcp_busy_ns, kUpload},
    {Get<&S::tcp_receiver_limited_ns>, &H::tcp_receiver_limited_ns, kUpload},
    {Get<&S::tcp_sender_limited_ns>, &H::tcp_sender_limited_ns, kUpload},
};

double ProcessHistory::Piece::Rate(Share share) const {
  switch (share) {
    case kWaiting:
      return waiting;
    case kSleeping:
      return sleeping;
    case kUpload:
      return upload ? 1 : 0;
    default:
      return 1;
  }
}

ProcessHistory::Piece ProcessHistory::PieceOf(const Span& span) {
  const SpanSplit split = SplitSpan(span);
  const auto inside = static_cast<double>(std::max<int64_t>(1, split.inside_ns()));
  Piece piece;
  piece.begin_ns = span.begin_ns;
  piece.end_ns = span.end_ns;
  piece.cpu = static_cast<double>(std::max<int64_t>(0, span.cpu_ns)) / inside;
  piece.delay =
      static_cast<float>(static_cast<double>(std::max<int64_t>(0, span.run_delay_ns)) / inside);
  piece.waiting = static_cast<float>(static_cast<double>(split.run_delay_ns) / inside);
  if (IsWork(span.phase))
    piece.sleeping = static_cast<float>(static_cast<double>(split.blocked_ns) / inside);
  piece.upload = IsUpload(span.phase);
  return piece;
}

std::vector<ProcessHistory::Piece> ProcessHistory::Overlapping(int64_t begin_ns,
                                                               int64_t end_ns) const {
  std::vector<Piece> found;
  auto span = std::upper_bound(spans_.begin(), spans_.end(), end_ns,
                               [](int64_t at, const Piece& s) { return at < s.begin_ns; });
  while (span != spans_.begin()) {
    --span;
    if (Length(span->begin_ns, begin_ns) > static_cast<double>(longest_ns_)) break;
    if (span->end_ns > begin_ns) found.push_back(*span);
  }
  return found;
}

double ProcessHistory::Whole(const ProcessSample& sample, Share share) const {
  const int64_t begin = BeginOf(sample);
  if (share == kTime) return static_cast<double>(sample.interval_ns);
  std::vector<Edge> edges;
  for (const Piece& span : Overlapping(begin, sample.at_ns)) {
    const double rate = span.Rate(share);
    if (rate <= 0) continue;
    edges.push_back({std::max(begin, span.begin_ns), true, rate});
    edges.push_back({std::min(sample.at_ns, span.end_ns), false, rate});
  }
  return IntegralOfLargest(std::move(edges));
}

ProcessHistory::ProcessHistory(const std::vector<const Span*>& spans,
                               std::vector<ProcessSample> samples)
    : samples_(std::move(samples)) {
  spans_.reserve(spans.size());
  for (const Span* span : spans) {
    if (!Counts(*span)) continue;
    spans_.push_back(PieceOf(*span));
    longest_ns_ = std::max(longest_ns_, SplitSpan(*span).inside_ns());
  }
  std::erase_if(samples_, [](const ProcessSample& sample) { return !IsUsable(sample); });
  std::sort(spans_.begin(), spans_.end(),
            [](const Piece& a, const Piece& b) { return a.begin_ns < b.begin_ns; });
  std::sort(samples_.begin(), samples_.end(),
            [](const ProcessSample& a, const ProcessSample& b) { return a.at_ns < b.at_ns; });
  for (const ProcessSample& sample : samples_) {
    sums_.emplace_back();
    for (int share = 0; share < kShares; ++share)
      sums_.back()[share] = Whole(sample, static_cast<Share>(share));
  }
}

HostFigures ProcessHistory::Of(const Span& span) const {
  HostFigures figures;
  std::vector<double> sums(std::size(kRules), 0.0);
  std::vector<bool> known(std::size(kRules), true);
  double covered = 0;
  const Piece piece = PieceOf(span);
  auto sample = std::upper_bound(samples_.begin(), samples_.end(), span.begin_ns,
                                 [](int64_t at, const S& s) { return at < s.at_ns; });
  for (; sample != samples_.end() && BeginOf(*sample) < span.end_ns; ++sample) {
    const double overlap = Overlap(span, BeginOf(*sample), sample->at_ns);
    const std::array<double, kShares>& whole = sums_[sample - samples_.begin()];
    covered += overlap;
    figures.tcp_round_trip_ns = std::max(figures.tcp_round_trip_ns, sample->tcp_round_trip_ns);
    for (size_t i = 0; i < std::size(kRules); ++i) {
      const int64_t value = kRules[i].from(*sample);
      const Share share = kRules[i].share;
      if (value < 0) known[i] = false;
      if (value < 0 || whole[share] <= 0) continue;
      const double part = std::min(1.0, overlap * piece.Rate(share) / whole[share]);
      sums[i] += static_cast<double>(value) * part;
    }
  }
  figures.covered_ns = Rounded(covered);
  const double length = Length(span.begin_ns, span.end_ns);
  if (covered <= 0 || covered < 0.5 * length) return figures;
  for (size_t i = 0; i < std::size(kRules); ++i) {
    if (known[i]) figures.*kRules[i].to = Rounded(sums[i] * std::max(1.0, length / covered));
  }
  return figures;
}

int64_t ProcessHistory::CpuMeanwhile(const Span& span) const {
  double sum = 0;
  for (const Piece& other : Overlapping(span.begin_ns, span.end_ns))
    sum += other.cpu * Overlap(other, span.begin_ns, span.end_ns);
  return Rounded(sum);
}

int64_t ProcessHistory::DelayMeanwhile(const Span& span) const {
  double sum = 0;
  for (const Piece& other : Overlapping(span.begin_ns, span.end_ns))
    sum += static_cast<double>(other.delay) * Overlap(other, span.begin_ns, span.end_ns);
  return Rounded(sum);
}

void Add(const HostFigures& other, HostFigures& figures) {
  const auto add = [&](int64_t H::*field) {
    const bool known = figures.*field >= 0 && other.*field >= 0;
    figures.*field = known ? std::min(kLongest, figures.*field + other.*field) : kUnknownFigure;
  };
  figures.covered_ns = std::min(kLongest, figures.covered_ns + other.covered_ns);
  for (int64_t H::*field :
       {&H::others_cpu_ns, &H::machine_busy_ns, &H::steal_ns, &H::throttled_ns, &H::major_faults,
        &H::disk_read_bytes, &H::disk_write_bytes, &H::memory_some_ns, &H::io_some_ns,
        &H::tcp_sent_bytes, &H::tcp_retransmitted_bytes, &H::tcp_busy_ns,
        &H::tcp_receiver_limited_ns, &H::tcp_sender_limited_ns}) {
    add(field);
  }
  figures.tcp_round_trip_ns = std::max(figures.tcp_round_trip_ns, other.tcp_round_trip_ns);
}

}  // namespace interlude
