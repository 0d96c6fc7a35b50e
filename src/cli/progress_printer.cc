#include "cli/progress_printer.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "cli/progress.h"

namespace interlude {
namespace {

constexpr size_t kUsualColumns = 80;

size_t TerminalColumns() {
  winsize size = {};
  const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : kUsualColumns;
}

}  // namespace

ProgressOutput StandardOutput(bool quiet) {
  ProgressOutput output;
  output.quiet = quiet;
  output.write = [](std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  };
  if (isatty(STDOUT_FILENO) == 1) output.columns = TerminalColumns;
  return output;
}

ProgressPrinter::ProgressPrinter(ProgressOutput output, std::function<void()> on_started)
    : output_(std::move(output)), on_started_(std::move(on_started)) {}

ProgressPrinter::~ProgressPrinter() {
  MutexLock lock(mutex_);
  EraseBar();
}

void ProgressPrinter::WorkerJoined(WorkerId worker, const std::string& host, uint32_t present,
                                   uint32_t wanted) {
  PrintUnlessQuiet(
      fmt::format("worker {} joined from {} ({} of {})", worker, host, present, wanted));
}

void ProgressPrinter::WorkerLeft(WorkerId worker, const std::string& reason) {
  PrintUnlessQuiet(fmt::format("worker {} left: {}", worker, reason));
}

void ProgressPrinter::RunStarted(size_t total_params, uint32_t num_chunks) {
  on_started_();
  PrintUnlessQuiet(fmt::format("training {} parameters in {} chunk{}", FormatCount(total_params),
                               FormatCount(num_chunks), num_chunks == 1 ? "" : "s"));
}

void ProgressPrinter::RoundProgressed(const Progress& progress) {
  if (output_.quiet || !output_.columns) return;
  std::string bar = FormatLiveBar(progress, output_.columns());
  MutexLock lock(mutex_);
  if (bar == bar_) return;
  std::string text = "\r" + bar;
  if (bar.size() < bar_.size()) text += std::string(bar_.size() - bar.size(), ' ');
  output_.write(text);
  bar_ = std::move(bar);
}

void ProgressPrinter::RoundEnded(const RoundLine& line) { PrintUnlessQuiet(FormatRoundLine(line)); }

void ProgressPrinter::Evaluated(uint32_t after_rounds, double accuracy, uint64_t samples) {
  PrintUnlessQuiet(FormatEvaluation(after_rounds, accuracy, samples));
}

void ProgressPrinter::PrintLine(const std::string& text) {
  MutexLock lock(mutex_);
  EraseBar();
  output_.write(text + "\n");
}

void ProgressPrinter::PrintUnlessQuiet(const std::string& text) {
  if (!output_.quiet) PrintLine(text);
}

void ProgressPrinter::EraseBar() {
  if (bar_.empty()) return;
  output_.write("\r" + std::string(bar_.size(), ' ') + "\r");
  bar_.clear();
}

}  // namespace interlude
