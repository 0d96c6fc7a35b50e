// A whole run inside one process, over real gRPC on loopback: one coordinator and several workers
// as threads. For tests of what crosses modules.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "coordinator/coordinator.h"
#include "worker/worker.h"

namespace interlude {

/// A configuration for the synthetic trainer: no time a step, a short last chunk and a short last
/// block.
RunConfig SyntheticConfig(uint64_t params = 1000, uint64_t chunk_params = 256, uint32_t rounds = 3);

/// What a worker's parameters were when its trainer was destroyed.
class FinalParameters {
 public:
  void Put(WorkerId worker, std::vector<float> values);
  std::map<WorkerId, std::vector<float>> Take();

 private:
  Mutex mutex_;
  std::map<WorkerId, std::vector<float>> values_ INTERLUDE_GUARDED_BY(mutex_);
};

/// Changes a trainer in a test: called with the synthetic trainer just made; may wrap or damage it.
using TrainerHook =
    std::function<std::unique_ptr<LocalTrainer>(std::unique_ptr<LocalTrainer>, WorkerId)>;

struct ClusterOptions {
  RunConfig config = SyntheticConfig();
  uint32_t workers = 2;
  std::string directory;  // must not exist
  TrainerHook hook;       // may be empty
  RunObserver* observer = nullptr;
};

struct ClusterResult {
  StatusOr<RunOutcome> outcome = UnknownError("not run");
  std::vector<StatusOr<WorkerOutcome>> workers;       // in order of start
  std::map<WorkerId, std::vector<float>> parameters;  // at the end, by worker id
};

/// Makes synthetic trainers, each through the options' hook, that leave their parameters. Both
/// outlive the factory.
TrainerFactory MakeFactory(const ClusterOptions& options, FinalParameters& final_parameters);

/// Of the trainers that `config` gives.
Layout LayoutOf(const RunConfig& config);

/// Runs it to its end.
ClusterResult RunCluster(const ClusterOptions& options);

/// A directory below the test's temporary one that does not exist yet.
std::string FreshDirectory(const std::string& name);

/// The base after `rounds` rounds, computed one chunk after the other on one thread without any
/// network: what the run must come to, bit for bit. `config` without error feedback.
std::vector<float> ReplaySerially(const RunConfig& config, uint32_t workers, uint32_t rounds);
/// The same where not all took part in each round: `members[r - 1]` did in round r.
std::vector<float> ReplaySerially(const RunConfig& config, uint32_t workers,
                                  const std::vector<std::set<WorkerId>>& members);

bool SameBits(const std::vector<float>& a, const std::vector<float>& b);

/// Fails the test where the run did not end well, or not each worker has the copy that
/// ReplaySerially comes to.
void ExpectSerialCopies(const ClusterResult& result, const ClusterOptions& options);

/// Changes the lowest bit of one starting parameter.
std::unique_ptr<LocalTrainer> FlipOneBit(std::unique_ptr<LocalTrainer> trainer, size_t position);

/// The parameters in a model.safetensors, flat, in the layout's order.
StatusOr<std::vector<float>> ReadModel(const std::string& path, const Layout& layout);

}  // namespace interlude
