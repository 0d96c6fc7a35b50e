#include "ledger/sample_reading.h"

#include <algorithm>
#include <array>

namespace interlude {
namespace {

using Figure = std::optional<int64_t>;

int64_t Known(const Figure& figure) { return figure.value_or(kUnknownFigure); }

/// Counters only grow; one that fell (some kernels' stolen time) has not grown.
int64_t Growth(const Figure& before, const Figure& after) {
  if (!before || !after) return kUnknownFigure;
  return std::max<int64_t>(0, *after - *before);
}

/// Sum over `after` of each entry's growth. An entry that was not there before, or was another of
/// the same name and so stood higher, has grown by all it has.
int64_t GrowthOfThreads(const std::map<int64_t, int64_t>& before,
                        const std::map<int64_t, int64_t>& after) {
  int64_t sum = 0;
  for (const auto& [thread, now] : after) {
    const auto then = before.find(thread);
    sum += then != before.end() && then->second <= now ? now - then->second : now;
  }
  return sum;
}

void AddProcess(const ProcessCounters& before, const ProcessCounters& after,
                ProcessSample& sample) {
  sample.cpu_ns = Growth(before.cpu_ns, after.cpu_ns);
  sample.threads = Known(after.threads);
  sample.major_faults = Growth(before.major_faults, after.major_faults);
  sample.minor_faults = Growth(before.minor_faults, after.minor_faults);
  sample.disk_read_bytes = Growth(before.disk_read_bytes, after.disk_read_bytes);
  sample.disk_write_bytes = Growth(before.disk_write_bytes, after.disk_write_bytes);
  if (before.run_delay_ns_by_thread && after.run_delay_ns_by_thread) {
    sample.run_delay_ns =
        GrowthOfThreads(*before.run_delay_ns_by_thread, *after.run_delay_ns_by_thread);
  }
  if (!after.memory) return;
  sample.rss_bytes = static_cast<int64_t>(after.memory->resident);
  sample.anonymous_bytes = static_cast<int64_t>(after.memory->anonymous);
  sample.peak_rss_bytes = static_cast<int64_t>(after.memory->peak_resident);
}

void AddThrottling(const std::map<std::string, CpuThrottling>& before,
                   const std::map<std::string, CpuThrottling>& after, ProcessSample& sample) {
  for (const auto& [group, now] : after) {
    const auto then = before.find(group);
    if (then == before.end()) continue;
    const int64_t grown = Growth(then->second.throttled_ns, now.throttled_ns);
    if (grown <= sample.throttled_ns) continue;  // unknown is less than nothing
    sample.throttled_ns = grown;
    sample.throttled_periods = Growth(then->second.periods, now.periods);
  }
}

void AddMachine(const MachineCounters& before, const MachineCounters& after,
                ProcessSample& sample) {
  sample.machine_busy_ns = Growth(before.busy_ns, after.busy_ns);
  sample.steal_ns = Growth(before.steal_ns, after.steal_ns);
  if (before.disk_busy_ns && after.disk_busy_ns) {
    for (const auto& [disk, now] : *after.disk_busy_ns) {
      const auto then = before.disk_busy_ns->find(disk);
      if (then != before.disk_busy_ns->end())
        sample.disk_busy_ns = std::max(sample.disk_busy_ns, Growth(then->second, now));
    }
  }
  if (!before.network || !after.network) return;
  sample.net_sent_bytes = 0;
  sample.net_received_bytes = 0;
  for (const auto& [interface, now] : *after.network) {
    const auto then = before.network->find(interface);
    if (then == before.network->end()) continue;
    sample.net_sent_bytes += Growth(then->second.sent_bytes, now.sent_bytes);
    sample.net_received_bytes += Growth(then->second.received_bytes, now.received_bytes);
  }
}

void AddPressure(const Pressure& before, const Pressure& after, ProcessSample& sample) {
  sample.cgroup_cpu_full_ns = Growth(before.cgroup_cpu_full_ns, after.cgroup_cpu_full_ns);
  sample.cpu_some_ns = Growth(before.cpu_some_ns, after.cpu_some_ns);
  sample.memory_some_ns = Growth(before.memory_some_ns, after.memory_some_ns);
  sample.io_some_ns = Growth(before.io_some_ns, after.io_some_ns);
}

using Connections = std::map<uint64_t, TcpCounters>;

/// Unknown when it is for any of them.
int64_t GrowthOfConnections(const Connections& before, const Connections& after,
                            Figure TcpCounters::*counter) {
  int64_t sum = 0;
  for (const auto& [cookie, now] : after) {
    const auto then = before.find(cookie);
    const int64_t grown =
        Growth(then == before.end() ? Figure(0) : then->second.*counter, now.*counter);
    if (grown == kUnknownFigure) return kUnknownFigure;
    sum += grown;
  }
  return sum;
}

void AddTcp(const Connections& before, const Connections& after, ProcessSample& sample) {
  using T = TcpCounters;
  sample.tcp_sent_bytes = GrowthOfConnections(before, after, &T::sent_bytes);
  sample.tcp_retransmitted_bytes = GrowthOfConnections(before, after, &T::retransmitted_bytes);
  sample.tcp_busy_ns = GrowthOfConnections(before, after, &T::busy_ns);
  sample.tcp_receiver_limited_ns = GrowthOfConnections(before, after, &T::receiver_limited_ns);
  sample.tcp_sender_limited_ns = GrowthOfConnections(before, after, &T::sender_limited_ns);
  for (const auto& [cookie, now] : after)
    sample.tcp_round_trip_ns = std::max(sample.tcp_round_trip_ns, Known(now.round_trip_ns));
}

/// All other figures count.
constexpr std::array kStandingFigures = {
    &ProcessSample::threads, &ProcessSample::rss_bytes, &ProcessSample::anonymous_bytes,
    &ProcessSample::peak_rss_bytes, &ProcessSample::tcp_round_trip_ns};

}  // namespace

SampleReading ReadSample(const Clock& clock, TcpConnections* tcp, const std::string& root) {
  SampleReading reading;
  // As exact as run.db keeps it: what else is recorded at the time of a sample has the same time.
  reading.at = std::chrono::floor<std::chrono::microseconds>(clock.Now());
  reading.process = ReadProcessCounters(root);
  reading.machine = ReadMachineCounters(root);
  reading.pressure = ReadPressure(root);
  reading.throttling = ReadCpuThrottling(root);
  if (tcp != nullptr) reading.tcp = tcp->Read();
  return reading;
}

ProcessSample SampleBetween(const SampleReading& before, const SampleReading& after) {
  ProcessSample sample;
  sample.at_ns = after.at.count();
  sample.interval_ns = (after.at - before.at).count();
  AddProcess(before.process, after.process, sample);
  AddThrottling(before.throttling, after.throttling, sample);
  AddMachine(before.machine, after.machine, sample);
  AddPressure(before.pressure, after.pressure, sample);
  if (before.tcp && after.tcp) AddTcp(*before.tcp, *after.tcp, sample);
  return sample;
}

ProcessSample JoinSamples(const ProcessSample& first, const ProcessSample& second) {
  ProcessSample joined = second;
  for (const SampleField& field : kSampleFields) {
    if (std::ranges::find(kStandingFigures, field.value) != kStandingFigures.end()) continue;
    const bool known = first.*field.value >= 0 && second.*field.value >= 0;
    joined.*field.value = known ? first.*field.value + second.*field.value : kUnknownFigure;
  }
  return joined;
}

}  // namespace interlude
