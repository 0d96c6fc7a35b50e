// Saves the base as it is at one moment while rounds go on. A thread writes it chunk by chunk; a
// merge that is about to change a chunk which is not written yet writes it itself first. No copy is
// made, and a merge waits for one chunk at most.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "base/status.h"
#include "coordinator/merger.h"
#include "store/safetensors_file.h"

namespace interlude {

/// A thread of its own; the calls come from the round thread.
class ModelSaver {
 public:
  /// Looks on at `merger`'s merges from now on; nothing is merged meanwhile. The merger outlives
  /// it. `path` is replaced by each model that is saved whole; `accuracy` is that of the model that
  /// is there already.
  ModelSaver(std::string path, Merger& merger, std::optional<double> accuracy = std::nullopt);
  /// Gives up what is being written. Nothing is merged meanwhile.
  ~ModelSaver();

  /// Begins to save the base, all of whose chunks stand after `rounds` rounds; nothing is being
  /// merged. False while the one before is being written. What fails (a full disk) is logged, and
  /// the file stays as it was.
  bool Begin(uint32_t rounds, double accuracy, const std::map<std::string, std::string>& metadata);
  /// Of the model that is being written or else of the one that was saved last.
  std::optional<double> accuracy();
  /// Waits until none is being written.
  void Await();

 private:
  /// One model on its way to the disk. A chunk's entry of `written`, under the chunk's lock.
  struct Job {
    Job(uint32_t of_rounds, double of_accuracy, SafetensorsFile of_file, uint32_t chunks)
        : rounds(of_rounds), accuracy(of_accuracy), file(std::move(of_file)), written(chunks) {}
    const uint32_t rounds;
    const double accuracy;
    SafetensorsFile file;
    std::vector<char> written;
    Mutex mutex;
    Status status INTERLUDE_GUARDED_BY(mutex);
  };

  void Run();
  std::shared_ptr<Job> NewestJob();
  void Write(Job& job, uint32_t chunk, uint32_t rounds, std::span<const float> values) const;
  Status Finish(Job& job);

  const std::string path_;
  Merger& merger_;
  Mutex mutex_;
  CondVar changed_;
  std::shared_ptr<Job> job_ INTERLUDE_GUARDED_BY(mutex_);
  std::optional<double> saved_accuracy_ INTERLUDE_GUARDED_BY(mutex_);
  bool stop_ INTERLUDE_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace interlude
