// What the samples of a process say of one of its spans: throttling, others' use of the machine,
// disk, memory and network. Samples and span are of one process and one clock, so that no clocks
// are compared. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "ledger/process_sample.h"
#include "ledger/span.h"

namespace interlude {

/// The parts of the samples' figures that fall to a span; kUnknownFigure where a sample that
/// overlaps the span does not have the figure, or the samples cover less than half of it.
struct HostFigures {
  int64_t covered_ns = 0;  // of the span, by samples
  // by time
  int64_t machine_busy_ns = kUnknownFigure;
  int64_t steal_ns = kUnknownFigure;
  // by waiting for a CPU
  int64_t others_cpu_ns = kUnknownFigure;  // the machine's CPUs were busy for other processes
  int64_t throttled_ns = kUnknownFigure;   // summed over the CPUs that were held up
  // by sleeping at work
  int64_t major_faults = kUnknownFigure;
  int64_t disk_read_bytes = kUnknownFigure;
  int64_t disk_write_bytes = kUnknownFigure;
  int64_t memory_some_ns = kUnknownFigure;
  int64_t io_some_ns = kUnknownFigure;
  // by upload
  int64_t tcp_sent_bytes = kUnknownFigure;
  int64_t tcp_retransmitted_bytes = kUnknownFigure;
  int64_t tcp_busy_ns = kUnknownFigure;
  int64_t tcp_receiver_limited_ns = kUnknownFigure;
  int64_t tcp_sender_limited_ns = kUnknownFigure;
  int64_t tcp_round_trip_ns = kUnknownFigure;  // the largest of the samples
};

/// A process's spans and samples, ready to be joined.
///
/// A sample covers a second or so, in which a process passes through several phases. Of a counter
/// each span gets the part that its own share is of all shares within the sample:
///   by time     its overlap / the sample's interval
///   by waiting  the overlap x its run delay per second, of spans that wait for a CPU
///   by sleeping the overlap x its blocked time per second, of train, encode, apply, verify,
///               evaluate and prepare
///   by upload   the overlap, of upload and share_base
/// Spans that are side by side do not share: in the sum of all shares the largest counts.
class ProcessHistory {
 public:
  /// Of one process.
  ProcessHistory(const std::vector<const Span*>& spans, std::vector<ProcessSample> samples);

  HostFigures Of(const Span& span) const;
  /// CPU time of all its spans while `span` went on, the span's own among it.
  int64_t CpuMeanwhile(const Span& span) const;
  /// How long threads of all its spans waited for a CPU while `span` went on, likewise.
  int64_t DelayMeanwhile(const Span& span) const;

 private:
  enum Share { kTime, kWaiting, kSleeping, kUpload, kShares };
  struct Rule {
    int64_t (*from)(const ProcessSample&);
    int64_t HostFigures::*to;
    Share share;
  };
  static const Rule kRules[];
  /// A span, as far as it is needed: a run has a million of them.
  struct Piece {
    int64_t begin_ns = 0;
    int64_t end_ns = 0;
    double cpu = 0;     // per nanosecond, as those below
    float delay = 0;    // of all its threads
    float waiting = 0;  // of the mean thread
    float sleeping = 0;
    bool upload = false;
    double Rate(Share share) const;
  };
  static Piece PieceOf(const Span& span);
  double Whole(const ProcessSample& sample, Share share) const;
  std::vector<Piece> Overlapping(int64_t begin_ns, int64_t end_ns) const;

  std::vector<Piece> spans_;  // by begin
  int64_t longest_ns_ = 0;
  std::vector<ProcessSample> samples_;             // by at_ns
  std::vector<std::array<double, kShares>> sums_;  // by sample and Share: all shares in it
};

/// Adds `other` to `figures`; what is unknown in one is unknown in the sum.
void Add(const HostFigures& other, HostFigures& figures);

}  // namespace interlude
