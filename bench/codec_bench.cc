// How fast the codec, the hash and the merge are, as a share of what memcpy reaches on the same
// machine with the same threads. Each pass is timed right after a memcpy, so that both see the same
// load and cold caches. Results are checked after each timed loop; a wrong one makes the program
// fail.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/cpu_quota.h"
#include "bench/bench_arrays.h"
#include "bench/bench_table.h"
#include "bench/codec_benches.h"
#include "codec/q4_format.h"
#include "codec/q4_kernels.h"

namespace interlude {
namespace {

void RunBench(benchmark::State& state, const Bench& bench, BenchArrays& arrays) {
  using Seconds = std::chrono::duration<double>;
  arrays.Fill();
  arrays.TimeMemcpy();
  bool good = bench.pass(arrays);
  Seconds in_pass{0};
  Seconds in_memcpy{0};
  for (auto _ : state) {
    in_memcpy += arrays.TimeMemcpy();
    const auto start = std::chrono::steady_clock::now();
    good = bench.pass(arrays) && good;
    const Seconds took = std::chrono::steady_clock::now() - start;
    in_pass += took;
    state.SetIterationTime(took.count());
  }
  if (!good) return state.SkipWithError("a pass reported an error on good data");
  if (const Finding finding = bench.check(arrays)) return state.SkipWithError(finding->c_str());
  const double passes = static_cast<double>(state.iterations());
  const double rate = passes * static_cast<double>(bench.bytes(arrays)) / in_pass.count();
  const double memcpy_rate =
      passes * static_cast<double>(arrays.memcpy_bytes()) / in_memcpy.count();
  state.counters[kBandwidthCounter] = rate / 1e9;
  state.counters[kRatioCounter] = rate / memcpy_rate;
}

void Register(const BenchOptions& options, BenchArrays& arrays) {
  const auto least = [](const std::vector<double>& v) {
    return *std::min_element(v.begin(), v.end());
  };
  const auto most = [](const std::vector<double>& v) {
    return *std::max_element(v.begin(), v.end());
  };
  for (const Bench& bench : CodecBenches()) {
    benchmark::RegisterBenchmark(
        bench.name.c_str(),
        [bench, &arrays](benchmark::State& state) { RunBench(state, bench, arrays); })
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond)
        ->Iterations(options.iterations)
        ->Repetitions(options.repetitions)
        ->ReportAggregatesOnly()
        ->ComputeStatistics("min", least)
        ->ComputeStatistics("max", most);
  }
}

std::string Heading(const BenchOptions& options) {
  double load = 0;
  const bool known = ::getloadavg(&load, 1) == 1;
  return fmt::format(
      "{} values ({:.1f} MiB an fp32 array) in chunks of {}, {} threads, q4 kernels for {}\n"
      "median of {} repetitions of {} passes; load average at the start {}\n"
      "of memcpy: bandwidth as a share of memcpy's in the same repetition\n\n",
      options.values, static_cast<double>(options.values * sizeof(float)) / 0x1p20,
      options.chunk_values, options.threads, SimdQ4TargetName(), options.repetitions,
      options.iterations, known ? fmt::format("{:.1f}", load) : "unknown");
}

void AddOptions(CLI::App& app, BenchOptions& options) {
  const auto positive = CLI::Range(1, 1 << 20);
  app.add_option("--values", options.values, "values an array")
      ->envname("INTERLUDE_BENCH_VALUES")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 36))
      ->capture_default_str();
  app.add_option("--chunk-values", options.chunk_values, "values a chunk; a multiple of 64")
      ->check(CLI::Range(uint64_t{64}, uint64_t{1} << 36))
      ->capture_default_str();
  app.add_option("--threads", options.threads, "threads of the pool; the usable cores by default")
      ->envname("INTERLUDE_BENCH_THREADS")
      ->check(positive)
      ->capture_default_str();
  app.add_option("--iterations", options.iterations, "passes a repetition")
      ->check(positive)
      ->capture_default_str();
  app.add_option("--repetitions", options.repetitions, "repetitions, of which the median is shown")
      ->check(positive)
      ->capture_default_str();
  app.footer(
      "Options of Google Benchmark work too: --benchmark_filter=REGEX, --benchmark_out=FILE "
      "(JSON), ...");
}

int Main(int argc, char** argv) {
  BenchOptions options;
  options.threads = ReadCpuLimits().UsableCores();
  CLI::App app("Benchmarks of the codec, the hash and the merge, as shares of memcpy's bandwidth.");
  AddOptions(app, options);
  // Takes out the options it knows; its own --help ends the program, so ours is asked for first.
  const bool help = std::any_of(argv + 1, argv + argc,
                                [](const char* arg) { return !std::strcmp(arg, "--help"); });
  if (!help) benchmark::Initialize(&argc, argv);
  CLI11_PARSE(app, argc, argv);
  if (options.chunk_values % kQ4BlockValues != 0) {
    fmt::print(stderr, "--chunk-values {}: must be a multiple of {}\n", options.chunk_values,
               kQ4BlockValues);
    return 2;
  }
  BenchArrays arrays(options);
  Register(options, arrays);
  BenchTable table(Heading(options));
  const size_t ran = benchmark::RunSpecifiedBenchmarks(&table);
  if (ran == 0) fmt::print(stderr, "no benchmark has a name that fits --benchmark_filter\n");
  return ran == 0 || table.failed() ? 1 : 0;
}

}  // namespace
}  // namespace interlude

int main(int argc, char** argv) { return interlude::Main(argc, argv); }
