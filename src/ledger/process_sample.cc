#include "ledger/process_sample.h"

namespace interlude {

using S = ProcessSample;

const std::array<SampleField, 28> kSampleFields = {{
    {"interval_ns", &S::interval_ns, "the counters cover this time before at_ns"},
    {"cpu_ns", &S::cpu_ns, "on a CPU, all threads of the process"},
    {"run_delay_ns", &S::run_delay_ns,
     "ready but waiting for a CPU, all threads; contains throttling"},
    {"threads", &S::threads, "of the process"},
    {"major_faults", &S::major_faults, "pages that had to be read from a disk"},
    {"minor_faults", &S::minor_faults, "pages that were made or found in memory"},
    {"rss_bytes", &S::rss_bytes, "resident memory"},
    {"anonymous_bytes", &S::anonymous_bytes, "the part of rss_bytes that no file is behind"},
    {"peak_rss_bytes", &S::peak_rss_bytes, "most resident memory since the process began"},
    {"disk_read_bytes", &S::disk_read_bytes, "read from a disk by the process"},
    {"disk_write_bytes", &S::disk_write_bytes,
     "written to a disk by the process, or to be written"},
    {"throttled_ns", &S::throttled_ns, "held up by the CPU quota of its cgroup"},
    {"throttled_periods", &S::throttled_periods, "quota periods in which that happened"},
    {"cgroup_cpu_full_ns", &S::cgroup_cpu_full_ns,
     "cgroup v2: all tasks of the group waited for a CPU"},
    {"machine_busy_ns", &S::machine_busy_ns, "of all CPUs of the machine together"},
    {"steal_ns", &S::steal_ns, "taken from the machine by its hypervisor"},
    {"cpu_some_ns", &S::cpu_some_ns, "pressure stall: some task of the machine waited for a CPU"},
    {"memory_some_ns", &S::memory_some_ns, "... for memory"},
    {"io_some_ns", &S::io_some_ns, "... for a disk"},
    {"disk_busy_ns", &S::disk_busy_ns, "the busiest disk of the machine had something to do"},
    {"net_sent_bytes", &S::net_sent_bytes, "by the machine, loopback left out"},
    {"net_received_bytes", &S::net_received_bytes, "by the machine, loopback left out"},
    {"tcp_sent_bytes", &S::tcp_sent_bytes, "on the connections between worker and coordinator"},
    {"tcp_retransmitted_bytes", &S::tcp_retransmitted_bytes, "of these, sent again"},
    {"tcp_busy_ns", &S::tcp_busy_ns, "these connections had data to send; sum over them"},
    {"tcp_receiver_limited_ns", &S::tcp_receiver_limited_ns,
     "... but the receiver's window was full"},
    {"tcp_sender_limited_ns", &S::tcp_sender_limited_ns, "... but the send buffer was too small"},
    {"tcp_round_trip_ns", &S::tcp_round_trip_ns, "smoothed round trip of the slowest of them"},
}};

}  // namespace interlude
