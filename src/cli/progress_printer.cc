#include "cli/progress_printer.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <future>
#include <memory>
#include <optional>
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
    : output_(std::move(output)), on_started_(std::move(on_started)), writer_([this] {
        while (const std::optional<Writing> writing = writings_.Pop()) (*writing)();
        EraseBar();
      }) {}

ProgressPrinter::~ProgressPrinter() {
  writings_.Close();
  writer_.join();
}

void ProgressPrinter::WorkerJoined(WorkerId worker, const std::string& host, uint32_t present,
                                   uint32_t wanted) {
  PrintUnlessQuiet(
      fmt::format("worker {} joined from {} ({} of {})", worker, host, present, wanted));
}

void ProgressPrinter::WorkerLeft(WorkerId worker, const std::string& reason) {
  PrintUnlessQuiet(fmt::format("worker {} left: {}", worker, reason));
}

void ProgressPrinter::WorkerLost(WorkerId worker, const std::string& reason) {
  PrintUnlessQuiet(fmt::format("worker {} is cut off ({}); it is awaited", worker, reason));
}

void ProgressPrinter::WorkerReturned(WorkerId worker) {
  PrintUnlessQuiet(fmt::format("worker {} is back", worker));
}

void ProgressPrinter::WorkerLate(WorkerId /*worker*/, const std::string& reason) {
  PrintUnlessQuiet(reason);
}

void ProgressPrinter::CatchUpBegan(WorkerId worker, uint32_t committed_rounds) {
  PrintUnlessQuiet(fmt::format("worker {} catches up with round {}; the others go on", worker,
                               committed_rounds));
}

void ProgressPrinter::CaughtUp(WorkerId worker, uint32_t round) {
  PrintUnlessQuiet(fmt::format("worker {} has caught up with round {}", worker, round));
}

void ProgressPrinter::RunStarted(size_t total_params, uint32_t num_chunks) {
  on_started_();
  PrintUnlessQuiet(fmt::format("training {} parameters in {} chunk{}", FormatCount(total_params),
                               FormatCount(num_chunks), num_chunks == 1 ? "" : "s"));
}

void ProgressPrinter::RoundProgressed(const Progress& progress) {
  if (output_.quiet || !output_.columns) return;
  if (bar_waits_.exchange(true)) return;  // at most one, so that bars take no line's room
  if (!writings_.TryPush([this, progress] { WriteBar(progress); })) bar_waits_ = false;
}

void ProgressPrinter::WriteBar(const Progress& progress) {
  bar_waits_ = false;
  std::string bar = FormatLiveBar(progress, output_.columns());
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
  const uint64_t left_out = lines_left_out_.exchange(0);
  writings_.Push([this, left_out, text] { WriteLine(left_out, text); });
}

void ProgressPrinter::PrintUnlessQuiet(const std::string& text) {
  if (output_.quiet) return;
  const uint64_t left_out = lines_left_out_.exchange(0);
  if (!writings_.TryPush([this, left_out, text] { WriteLine(left_out, text); }))
    lines_left_out_ += left_out + 1;
}

void ProgressPrinter::Flush() {
  // Shared: the writing thread may still be inside set_value when the wait is over.
  const auto written = std::make_shared<std::promise<void>>();
  std::future<void> waited = written->get_future();
  if (writings_.Push([written] { written->set_value(); })) waited.wait();
}

void ProgressPrinter::WriteLine(uint64_t left_out, const std::string& text) {
  EraseBar();
  if (left_out > 0) {
    output_.write(fmt::format("({} line{} left out: the output took none)\n", FormatCount(left_out),
                              left_out == 1 ? "" : "s"));
  }
  output_.write(text + "\n");
}

void ProgressPrinter::EraseBar() {
  if (bar_.empty()) return;
  output_.write("\r" + std::string(bar_.size(), ' ') + "\r");
  bar_.clear();
}

}  // namespace interlude
