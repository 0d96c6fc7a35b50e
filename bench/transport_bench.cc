// How fast chunks travel over loopback through gRPC, as a share of what a plain TCP connection
// reaches into memory in the same run. Each kind of pass follows a TCP pass, so that both see the
// same load.
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/spread.h"
#include "base/heap.h"
#include "bench/transport_benches.h"

namespace interlude {
namespace {

using Pass = std::function<StatusOr<TransportBench::Seconds>()>;

/// CPU time of this process so far: of both ends, and of the kernel on their behalf.
double CpuSeconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Prints one line: the median bandwidth, its share of raw TCP's and that share's spread, CPU time.
Status Measure(const std::string& name, const Pass& pass, TransportBench& bench, int repetitions) {
  std::vector<double> rates;
  std::vector<double> shares;
  std::vector<double> cpu;
  INTERLUDE_RETURN_IF_ERROR(pass().status());  // touches the pages
  for (int i = 0; i < repetitions; ++i) {
    INTERLUDE_ASSIGN_OR_RETURN(const TransportBench::Seconds tcp, bench.RawTcp());
    const double cpu_before = CpuSeconds();
    INTERLUDE_ASSIGN_OR_RETURN(const TransportBench::Seconds took, pass());
    cpu.push_back((CpuSeconds() - cpu_before) / (static_cast<double>(bench.bytes()) / 1e9));
    rates.push_back(static_cast<double>(bench.bytes()) / took.count() / 1e9);
    shares.push_back(tcp.count() / took.count());
  }
  const Spread share = SpreadOf(std::move(shares));
  fmt::print("{:<34} {:>6.2f} GB/s {:>10.2f} {:>8.2f} to {:.2f} {:>10.2f}\n", name,
             MedianOf(std::move(rates)), share.median, share.min, share.max,
             MedianOf(std::move(cpu)));
  return OkStatus();
}

Status MeasureAll(TransportBench& bench, size_t chunk_bytes, int repetitions) {
  fmt::print("{:.1f} MiB a pass in chunks of {} bytes, median of {} passes\n\n",
             static_cast<double>(bench.bytes()) / 0x1p20, chunk_bytes, repetitions);
  fmt::print("{:<34} {:>11} {:>10} {:>16} {:>10}\n", "", "bandwidth", "of TCP", "least to most",
             "CPU s/GB");
  INTERLUDE_RETURN_IF_ERROR(Measure(
      "raw TCP into memory", [&] { return bench.RawTcp(); }, bench, repetitions));
  const auto upload = [&](const std::string& name, UploadTo to) {
    return Measure(
        name, [&bench, to] { return bench.Upload(to); }, bench, repetitions);
  };
  INTERLUDE_RETURN_IF_ERROR(upload("upload, hashed where it lies", UploadTo::kNothing));
  INTERLUDE_RETURN_IF_ERROR(upload("upload into memory", UploadTo::kMemory));
  INTERLUDE_RETURN_IF_ERROR(upload("upload into the journal, sealed", UploadTo::kJournal));
  return Measure(
      "download into memory", [&] { return bench.Download(); }, bench, repetitions);
}

int Main(int argc, char** argv) {
  KeepFreedMemory();  // as the programs do
  TransportBenchOptions options;
  uint64_t mib = options.bytes >> 20;
  int repetitions = 5;
  std::string parent = std::filesystem::temp_directory_path();
  CLI::App app("Benchmark of the transport of chunks, as a share of raw TCP's bandwidth.");
  app.add_option("--mib", mib, "MiB a pass")->check(CLI::Range(1, 1 << 20))->capture_default_str();
  app.add_option("--chunk-bytes", options.chunk_bytes, "payload bytes of a chunk")
      ->check(CLI::Range(1, 1 << 30))
      ->capture_default_str();
  app.add_option("--repetitions", repetitions, "passes of each kind, of which the median is shown")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--directory", parent, "where to make the journal: twice --mib of disk")
      ->check(CLI::ExistingDirectory)
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  options.bytes = mib << 20;
  options.directory = parent + "/transport-bench-XXXXXX";
  if (::mkdtemp(options.directory.data()) == nullptr) {
    fmt::print(stderr, "cannot make a directory in {}\n", parent);
    return 1;
  }
  Status status;
  if (auto bench = TransportBench::Create(options); bench.ok()) {
    status = MeasureAll(**bench, options.chunk_bytes, repetitions);
  } else {
    status = bench.status();
  }
  std::filesystem::remove_all(options.directory);
  if (!status.ok()) fmt::print(stderr, "{}\n", status.ToString());
  return status.ok() ? 0 : 1;
}

}  // namespace
}  // namespace interlude

int main(int argc, char** argv) { return interlude::Main(argc, argv); }
