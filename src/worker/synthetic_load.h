// What a synthetic local step does to its machine: CPU time on several threads, reads from a disk,
// touches of mapped memory. For trying how a run behaves when one of them is scarce.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

#include "base/status.h"
#include "config/run_config.h"

namespace interlude {

class SyntheticLoad {
 public:
  /// Writes a file where the model wants one: in the temporary directory (TMPDIR, else /tmp),
  /// without a name from the start. Unavailable when it cannot be written or mapped.
  static StatusOr<std::unique_ptr<SyntheticLoad>> Create(const ModelConfig& model, int threads);
  ~SyntheticLoad();
  SyntheticLoad(const SyntheticLoad&) = delete;
  SyntheticLoad& operator=(const SyntheticLoad&) = delete;

  /// The threads of one round's steps. They spin until the next step, as those of a compute library
  /// with an active wait policy do. One thread at a time.
  class Team {
   public:
    explicit Team(SyntheticLoad& load);
    ~Team();
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;
    /// One local step, this thread's part among it; ends when all have done theirs.
    Status Step();

   private:
    void Help();

    SyntheticLoad& load_;
    std::atomic<unsigned> steps_{0};  // begun
    std::atomic<unsigned> done_{0};   // parts of the others, of all steps
    std::atomic<bool> over_{false};
    std::vector<std::thread> helpers_;
  };

 private:
  SyntheticLoad(const ModelConfig& model, int threads);
  Status MakeFile(size_t bytes);
  Status ReadDisk();
  void TouchPages() const;

  const double cpu_ms_;
  const size_t read_bytes_;
  const size_t mapped_bytes_;
  const int threads_;
  size_t file_bytes_ = 0;
  size_t read_at_ = 0;
  int direct_ = -1;  // past the page cache
  const std::byte* mapped_ = nullptr;
};

}  // namespace interlude
