// Prints a run's progress as it is observed: lines that stay, and on a terminal one that is
// redrawn. Not a log: it goes to stdout. Has a thread that writes, so that an output nobody reads
// (a pager, Ctrl-S) does not hold up the run.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

#include "base/queue.h"
#include "coordinator/coordinator.h"

namespace interlude {

struct ProgressOutput {
  /// Writes and flushes. Called on the printer's own thread, as is `columns`.
  std::function<void(std::string_view)> write;
  /// Columns of the terminal; asked at each redraw. Empty: not a terminal, so no live bar.
  std::function<size_t()> columns;
  /// Nothing is printed but what PrintLine is called for.
  bool quiet = false;
};

/// stdout, with a live bar where it is a terminal.
ProgressOutput StandardOutput(bool quiet);

/// Any thread. What is observed is handed to the writing thread without waiting for it. While the
/// output takes nothing, the live bar is left out, and of the lines those that come when
/// kMostLinesWaiting already wait; how many is said before the next one.
class ProgressPrinter final : public RunObserver {
 public:
  static constexpr size_t kMostLinesWaiting = 4096;

  /// `on_started` is called once when the run begins, on the thread that observes it.
  ProgressPrinter(ProgressOutput output, std::function<void()> on_started);
  /// Waits until all is written, and erases the live bar.
  ~ProgressPrinter() override;

  void WorkerJoined(WorkerId worker, const std::string& host, uint32_t present,
                    uint32_t wanted) override;
  void WorkerLeft(WorkerId worker, const std::string& reason) override;
  void WorkerLost(WorkerId worker, const std::string& reason) override;
  void WorkerReturned(WorkerId worker) override;
  void WorkerLate(WorkerId worker, const std::string& reason) override;
  void CatchUpBegan(WorkerId worker, uint32_t committed_rounds) override;
  void CaughtUp(WorkerId worker, uint32_t round) override;
  void RunStarted(size_t total_params, uint32_t num_chunks) override;
  void RoundProgressed(const Progress& progress) override;
  void RoundEnded(const RoundLine& line) override;
  void Evaluated(uint32_t after_rounds, double accuracy, uint64_t samples) override;

  /// Prints a line even when quiet; the live bar gives way to it. Waits for room, never leaves it
  /// out: not for the run's own threads.
  void PrintLine(const std::string& text);

  /// Waits until all that came before is written.
  void Flush();

 private:
  using Writing = std::function<void()>;  // on the writing thread

  void PrintUnlessQuiet(const std::string& text);
  void WriteLine(uint64_t left_out, const std::string& text);
  void WriteBar(const Progress& progress);
  void EraseBar();

  const ProgressOutput output_;
  const std::function<void()> on_started_;
  std::string bar_;  // as it stands on the terminal; the writing thread's
  std::atomic<bool> bar_waits_ = false;
  std::atomic<uint64_t> lines_left_out_ = 0;  // and not yet said
  Queue<Writing> writings_{kMostLinesWaiting};
  std::thread writer_;
};

}  // namespace interlude
