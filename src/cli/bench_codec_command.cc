// interlude bench codec: the kernels of the exchange as shares of memcpy's bandwidth.
#include <memory>
#include <string>
#include <vector>

#include "base/cpu_quota.h"
#include "base/free_memory.h"
#include "base/human_text.h"
#include "bench/codec_figures.h"
#include "cli/bench_commands.h"
#include "cli/exit_codes.h"

namespace interlude {
namespace {

struct CodecBenchCommandOptions {
  BenchOptions bench;
  std::string codec = CodecName(Codec::kQ4);
  std::string json;
};

Status CheckMemory(const BenchOptions& options) {
  const uint64_t wanted = CodecBenchMemory(options);
  const uint64_t available = AvailableMemoryBytes().value_or(UINT64_MAX);
  if (wanted <= available) return OkStatus();
  return InvalidArgumentError("--params {} needs {} of memory, {} are available: give less",
                              options.values, HumanBytes(static_cast<double>(wanted)),
                              HumanBytes(static_cast<double>(available)));
}

int Run(const CodecBenchCommandOptions& options) {
  BenchOptions bench = options.bench;
  if (options.codec == CodecName(Codec::kQ8)) bench.codec = Codec::kQ8;
  if (bench.threads == 0) bench.threads = ReadCpuLimits().UsableCores();
  const Status fits = CheckMemory(bench);
  if (!fits.ok()) return Fail(fits, ExitCodeFor(fits));
  PrintBenchText(FormatCodecHeading(bench), options.json);
  bool wrong = false;
  const auto figures = MeasureCodec(bench, [&](const CodecFigure& figure) {
    wrong = wrong || !figure.wrong.empty();
    PrintBenchText(FormatCodecLine(figure), options.json);
  });
  const Status written = WriteBenchJson(FormatCodecJson(bench, figures), options.json);
  if (!written.ok()) return Fail(written, kExitFailed);
  return wrong ? kExitFailed : kExitOk;
}

}  // namespace

void AddBenchCodecCommand(CLI::App& bench, Action& chosen) {
  auto options = std::make_shared<CodecBenchCommandOptions>();
  CLI::App* command = bench.add_subcommand(
      "codec", "Encode, decode, merge, apply and hash as shares of memcpy's bandwidth");
  AddParamsOption(*command, options->bench.values,
                  "Parameters, as 64M (the default is 67,108,864); 33 bytes of memory each with "
                  "q4, 38 with q8");
  command->add_option("--codec", options->codec, "q4, for which there are bars, or q8")
      ->type_name("CODEC")
      ->check(CLI::IsMember({CodecName(Codec::kQ4), CodecName(Codec::kQ8)}).description(""))
      ->capture_default_str();
  command
      ->add_option("--chunk-params", options->bench.chunk_values,
                   "Parameters a chunk; a multiple of 64")
      ->type_name("N")
      ->check(CLI::Range(uint64_t{64}, uint64_t{1} << 28).description(""))
      ->check([](const std::string& text) {
        return std::stoull(text) % 64 == 0 ? "" : "must be a multiple of 64";
      })
      ->capture_default_str();
  const auto positive = CLI::Range(1, 1 << 20).description("");
  command->add_option("--threads", options->bench.threads, "Threads; without it the usable cores")
      ->type_name("T")
      ->check(positive);
  command->add_option("--iterations", options->bench.iterations, "Passes a repetition")
      ->type_name("N")
      ->check(positive)
      ->capture_default_str();
  command
      ->add_option("--repetitions", options->bench.repetitions,
                   "Repetitions, of which the median is shown")
      ->type_name("N")
      ->check(positive)
      ->capture_default_str();
  AddJsonOption(*command, options->json);
  command->footer(
      "Example:\n  interlude bench codec --params 632M\n\n"
      "Every result is checked; a wrong one gives exit status 1. Missing a bar does not.");
  command->callback([options, &chosen] { chosen = [options] { return Run(*options); }; });
}

}  // namespace interlude
