// The benchmarks of CodecBenches, timed and checked: what `interlude bench codec` prints. Each pass
// is timed right after a memcpy, so that both see the same load and cold caches.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/codec_benches.h"

namespace interlude {

struct CodecFigure {
  std::string name;
  double seconds = 0;           // of a pass; median of the repetitions
  double bytes_per_second = 0;  // read and written
  double of_memcpy = 0;         // bandwidth as a share of memcpy's in the same repetition; median
  double least_of_memcpy = 0;
  double most_of_memcpy = 0;
  std::optional<double> bar;  // that of_memcpy must reach
  std::string baseline;       // the benchmark that it is compared with; empty: none
  double of_baseline = 0;     // time as a multiple of the baseline's, each beside its memcpy
  std::string wrong;          // what is wrong with the result; empty: nothing

  bool met() const { return !bar || of_memcpy >= *bar; }
};

/// `on_figure` gets each as soon as it is there.
std::vector<CodecFigure> MeasureCodec(const BenchOptions& options,
                                      const std::function<void(const CodecFigure&)>& on_figure);

/// What a benchmark must reach, by its name; nothing for most.
std::optional<double> CodecBar(const std::string& name);
/// The names that have one.
std::vector<std::string> NamesWithCodecBar();

/// Bytes that the arrays take.
uint64_t CodecBenchMemory(const BenchOptions& options);

std::string FormatCodecHeading(const BenchOptions& options);
std::string FormatCodecLine(const CodecFigure& figure);
std::string FormatCodecJson(const BenchOptions& options, const std::vector<CodecFigure>& figures);

}  // namespace interlude
