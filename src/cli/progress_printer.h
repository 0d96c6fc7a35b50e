// Prints a run's progress as it is observed: lines that stay, and on a terminal one that is
// redrawn. Not a log: it goes to stdout.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "coordinator/coordinator.h"

namespace interlude {

struct ProgressOutput {
  /// Writes and flushes.
  std::function<void(std::string_view)> write;
  /// Columns of the terminal; asked at each redraw. Empty: not a terminal, so no live bar.
  std::function<size_t()> columns;
  /// Nothing is printed but what PrintLine is called for.
  bool quiet = false;
};

/// stdout, with a live bar where it is a terminal.
ProgressOutput StandardOutput(bool quiet);

/// Any thread.
class ProgressPrinter final : public RunObserver {
 public:
  /// `on_started` is called once when the run begins.
  ProgressPrinter(ProgressOutput output, std::function<void()> on_started);
  /// Erases the live bar.
  ~ProgressPrinter() override;

  void WorkerJoined(WorkerId worker, const std::string& host, uint32_t present,
                    uint32_t wanted) override;
  void WorkerLeft(WorkerId worker, const std::string& reason) override;
  void RunStarted(size_t total_params, uint32_t num_chunks) override;
  void RoundProgressed(const Progress& progress) override;
  void RoundEnded(const RoundLine& line) override;
  void Evaluated(uint32_t after_rounds, double accuracy, uint64_t samples) override;

  /// Prints a line even when quiet; the live bar gives way to it.
  void PrintLine(const std::string& text);

 private:
  void PrintUnlessQuiet(const std::string& text);
  void EraseBar() INTERLUDE_REQUIRES(mutex_);

  const ProgressOutput output_;
  const std::function<void()> on_started_;
  Mutex mutex_;  // also orders the writes: lines must not mix with the bar
  std::string bar_ INTERLUDE_GUARDED_BY(mutex_);  // as it stands on the terminal
};

}  // namespace interlude
