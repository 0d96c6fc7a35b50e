#include "bench/codec_figures.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "analysis/spread.h"
#include "bench/machine_speed.h"
#include "codec/block_kernels.h"

namespace interlude {
namespace {

using Seconds = std::chrono::duration<double>;

constexpr std::array<std::pair<const char*, double>, 6> kBars = {{
    {"encode", 0.60},
    {"encode, residual", 0.80},
    {"decode + average of 4", 1.0},
    {"merge of 4, Nesterov", 0.9},
    {"apply", 1.25},
    {"apply + hash", 0.9},
}};

struct Repetition {
  Seconds in_pass{0};
  Seconds in_memcpy{0};
  bool good = true;
};

Repetition Repeat(const Bench& bench, int iterations, BenchArrays& arrays) {
  Repetition repetition;
  for (int i = 0; i < iterations; ++i) {
    repetition.in_memcpy += arrays.TimeMemcpy();
    const auto begin = std::chrono::steady_clock::now();
    repetition.good = bench.pass(arrays) && repetition.good;
    repetition.in_pass += std::chrono::steady_clock::now() - begin;
  }
  return repetition;
}

CodecFigure Measure(const Bench& bench, const BenchOptions& options, BenchArrays& arrays) {
  CodecFigure figure{.name = bench.name, .baseline = bench.baseline};
  if (options.codec == Codec::kQ4) figure.bar = CodecBar(bench.name);
  arrays.Fill();
  arrays.TimeMemcpy();
  bool good = bench.pass(arrays);
  std::vector<double> seconds;
  std::vector<double> shares;
  const auto bytes = static_cast<double>(bench.bytes(arrays));
  for (int i = 0; i < options.repetitions; ++i) {
    const Repetition repetition = Repeat(bench, options.iterations, arrays);
    good = good && repetition.good;
    seconds.push_back(repetition.in_pass.count() / options.iterations);
    shares.push_back(bytes / repetition.in_pass.count() * repetition.in_memcpy.count() /
                     static_cast<double>(arrays.memcpy_bytes()));
  }
  figure.seconds = MedianOf(seconds);
  figure.bytes_per_second = bytes / figure.seconds;
  const Spread spread = SpreadOf(std::move(shares));
  figure.of_memcpy = spread.median;
  figure.least_of_memcpy = spread.min;
  figure.most_of_memcpy = spread.max;
  if (!good) {
    figure.wrong = "a pass reported an error on good data";
  } else {
    figure.wrong = bench.check(arrays).value_or("");
  }
  return figure;
}

/// Of the last figure. Both move the same bytes, so times compare as shares of memcpy's bandwidth
/// do, which the machine's mood leaves alone.
void CompareWithBaseline(std::vector<CodecFigure>& figures) {
  for (const CodecFigure& figure : figures) {
    if (figure.name == figures.back().baseline) {
      figures.back().of_baseline = figure.of_memcpy / figures.back().of_memcpy;
    }
  }
}

}  // namespace

std::optional<double> CodecBar(const std::string& name) {
  for (const auto& [known, bar] : kBars) {
    if (name == known) return bar;
  }
  return std::nullopt;
}

std::vector<std::string> NamesWithCodecBar() {
  std::vector<std::string> names;
  for (const auto& [name, bar] : kBars) names.emplace_back(name);
  return names;
}

std::vector<CodecFigure> MeasureCodec(const BenchOptions& options,
                                      const std::function<void(const CodecFigure&)>& on_figure) {
  BenchArrays arrays(options);
  std::vector<CodecFigure> figures;
  for (const Bench& bench : CodecBenches(options.codec)) {
    figures.push_back(Measure(bench, options, arrays));
    CompareWithBaseline(figures);
    on_figure(figures.back());
  }
  return figures;
}

uint64_t CodecBenchMemory(const BenchOptions& options) {
  constexpr uint64_t kArrays = 7;  // BenchArrays' fp32 arrays
  constexpr uint64_t kPayloads = 1 + kMostBenchContributors;
  return options.values * kArrays * sizeof(float) +
         kPayloads * EncodedBytes(options.codec, options.values);
}

std::string FormatCodecHeading(const BenchOptions& options) {
  const MachineDescription machine = DescribeMachine();
  return fmt::format(
      "{}; load average {:.1f}\n{} values ({:.1f} MiB an fp32 array) in chunks of {}, {} threads, "
      "{} kernels for {}\n"
      "median of {} repetitions of {} passes; of memcpy: bandwidth as a share of memcpy's in the "
      "same repetition\n\n{:<28}{:>10}{:>9}{:>12}   {:<16}{}\n",
      machine.ToString(), machine.load_average, options.values,
      static_cast<double>(options.values * sizeof(float)) / 0x1p20, options.chunk_values,
      options.threads, CodecName(options.codec), SimdTargetName(), options.repetitions,
      options.iterations, "", "ms", "GB/s", "of memcpy", "(least - most)", "bar");
}

std::string FormatCodecLine(const CodecFigure& figure) {
  if (!figure.wrong.empty()) return fmt::format("{:<28}WRONG: {}\n", figure.name, figure.wrong);
  const std::string bar = figure.bar ? fmt::format("  at least {:.2f}, {}", *figure.bar,
                                                   figure.met() ? "met" : "not met")
                                     : "";
  const std::string compared =
      figure.baseline.empty()
          ? ""
          : fmt::format("  {:.2f} x the time of {}", figure.of_baseline, figure.baseline);
  return fmt::format("{:<28}{:>10.2f}{:>9.2f}{:>12.2f}   ({:.2f} - {:.2f}){}{}\n", figure.name,
                     figure.seconds * 1e3, figure.bytes_per_second / 1e9, figure.of_memcpy,
                     figure.least_of_memcpy, figure.most_of_memcpy, bar, compared);
}

std::string FormatCodecJson(const BenchOptions& options, const std::vector<CodecFigure>& figures) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (const CodecFigure& figure : figures) {
    list.push_back(
        {{"name", figure.name},
         {"seconds", figure.seconds},
         {"bytes_per_second", figure.bytes_per_second},
         {"of_memcpy", figure.of_memcpy},
         {"least_of_memcpy", figure.least_of_memcpy},
         {"most_of_memcpy", figure.most_of_memcpy},
         {"at_least", figure.bar ? Json(*figure.bar) : Json(nullptr)},
         {"met", figure.bar ? Json(figure.met()) : Json(nullptr)},
         {"baseline", figure.baseline.empty() ? Json(nullptr) : Json(figure.baseline)},
         {"of_baseline", figure.baseline.empty() ? Json(nullptr) : Json(figure.of_baseline)},
         {"wrong", figure.wrong.empty() ? Json(nullptr) : Json(figure.wrong)}});
  }
  const MachineDescription machine = DescribeMachine();
  return Json({{"format", "interlude-bench-codec"},
               {"version", 1},
               {"values", options.values},
               {"chunk_values", options.chunk_values},
               {"threads", options.threads},
               {"codec", CodecName(options.codec)},
               {"target", SimdTargetName()},
               {"machine", machine.ToString()},
               {"figures", list}})
             .dump(2) +
         "\n";
}

}  // namespace interlude
