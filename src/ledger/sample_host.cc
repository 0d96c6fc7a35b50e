// The sample run's samples, memory records and clock probes.
#include "ledger/sample_account.h"
#include "ledger/sample_timeline.h"

namespace interlude::internal {
namespace {

constexpr int64_t kSecond = 1000 * kMs;
constexpr int64_t kMb = 1'000'000;

int64_t OnClockOf(int32_t process, int64_t coordinator_ns) {
  return process == kNoWorker ? coordinator_ns : OnWorkersClock(process, coordinator_ns);
}

ProcessSample CoordinatorSample() {
  ProcessSample sample;
  sample.cpu_ns = 61 * kMs;
  sample.run_delay_ns = 400'000;
  sample.threads = 14;
  sample.rss_bytes = 48 * kMb;
  sample.anonymous_bytes = 21 * kMb;
  sample.peak_rss_bytes = 51 * kMb;
  sample.disk_write_bytes = 160'000;
  return sample;
}

/// Worker 2 uses all that its quota of 1.5 cores gives and is throttled in 8 of 10 periods.
ProcessSample WorkerSample(int32_t worker) {
  ProcessSample sample;
  const bool starved = worker == 2;
  sample.cpu_ns = starved ? 1500 * kMs : 1040 * kMs;
  sample.run_delay_ns = starved ? 410 * kMs : kMs;
  sample.threads = starved ? 19 : 31;
  sample.rss_bytes = (232 + 3 * worker) * kMb;
  sample.anonymous_bytes = (101 + 2 * worker) * kMb;
  sample.peak_rss_bytes = 251 * kMb;
  sample.disk_write_bytes = 0;
  sample.throttled_ns = starved ? 380 * kMs : 0;
  sample.throttled_periods = starved ? 8 : 0;
  return sample;
}

/// What machine `process` is on does besides; some figures its kernel does not give.
ProcessSample SampleOf(int32_t process, int64_t second) {
  ProcessSample sample = process == kNoWorker ? CoordinatorSample() : WorkerSample(process);
  sample.recorded_by = process;
  sample.at_ns = OnClockOf(process, kSampleStart + second * kSecond);
  sample.interval_ns = kSecond;
  sample.major_faults = 0;
  sample.minor_faults = 90 + second % 7;
  sample.disk_read_bytes = 0;
  sample.machine_busy_ns = sample.cpu_ns + 120 * kMs;
  sample.steal_ns = 0;
  sample.cpu_some_ns = sample.run_delay_ns / 2;
  sample.memory_some_ns = 0;
  sample.io_some_ns = 200'000;
  sample.disk_busy_ns = 3 * kMs;
  const int64_t payload = static_cast<int64_t>(kPayloadBytes) * (process == kNoWorker ? 3 : 1);
  sample.net_sent_bytes = payload / 2;
  sample.net_received_bytes = payload / 2;
  sample.tcp_sent_bytes = payload / 2;
  sample.tcp_retransmitted_bytes = 0;
  sample.tcp_busy_ns = 6 * kMs;
  sample.tcp_receiver_limited_ns = 0;
  sample.tcp_sender_limited_ns = 0;
  sample.tcp_round_trip_ns = 2 * kLinkNs + 300'000;
  return sample;
}

/// The large owners stand from the beginning; the rest of the resident memory is told every 2 s.
void AddMemory(const ProcessSample& sample, int64_t second, std::vector<MemoryRecord>& out) {
  if (second % 2 != 0) return;
  const int64_t base = static_cast<int64_t>(kBaseBytes);
  const auto payloads = static_cast<int64_t>(kPayloadBytes);
  const std::vector<std::pair<const char*, int64_t>> owners =
      sample.recorded_by == kNoWorker
          ? std::vector<std::pair<const char*, int64_t>>{{"base", base},
                                                         {"outer state", base},
                                                         {"payloads", 4 * payloads}}
          : std::vector<std::pair<const char*, int64_t>>{
                {"base", base}, {"residual", base}, {"payloads", 2 * payloads}};
  int64_t rest = sample.rss_bytes;
  for (const auto& [owner, bytes] : owners) {
    rest -= bytes;
    if (second == 0) out.push_back({sample.recorded_by, sample.at_ns, owner, bytes});
  }
  out.push_back({sample.recorded_by, sample.at_ns, "the rest", rest});
}

/// On an idle link every third; the others wait on the way. Each second probe of worker 2 waited
/// for a CPU as well.
ClockProbe ProbeOf(int32_t worker, int64_t second) {
  const int64_t wait = (second + worker) % 3 * 350'000;
  const int64_t sent = kSampleStart + second * kSecond + 250 * kMs;
  ClockProbe probe;
  probe.worker = worker;
  probe.run_delay_ns = worker == 2 && second % 2 == 1 ? 8 * kMs : 20'000;
  probe.sent_ns = OnWorkersClock(worker, sent);
  probe.received_ns = sent + kLinkNs + wait;
  probe.replied_ns = probe.received_ns + 40'000;
  const int64_t back = probe.replied_ns + kLinkNs + wait / 2 + probe.run_delay_ns;
  probe.returned_ns = OnWorkersClock(worker, back);
  return probe;
}

}  // namespace

Account HostAccount(int64_t begin_ns, int64_t end_ns) {
  Account account;
  int64_t second = (begin_ns - kSampleStart + kSecond - 1) / kSecond;
  for (; kSampleStart + second * kSecond < end_ns; ++second) {
    for (int32_t process = kNoWorker; process < kSampleWorkers; ++process) {
      account.samples.push_back(SampleOf(process, second));
      AddMemory(account.samples.back(), second, account.memory);
      if (process != kNoWorker) account.probes.push_back(ProbeOf(process, second));
    }
  }
  return account;
}

}  // namespace interlude::internal
