#include "tests/cluster.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <thread>

#include "codec/chunk_codec.h"
#include "coordinator/merger.h"
#include "optim/merge.h"
#include "optim/outer_optimizer.h"
#include "store/safetensors.h"
#include "worker/forwarding_trainer.h"
#include "worker/synthetic_trainer.h"

namespace interlude {
namespace {

/// Passes everything on and keeps the parameters when it is destroyed.
class Recording final : public ForwardingTrainer {
 public:
  Recording(std::unique_ptr<LocalTrainer> inner, WorkerId worker, FinalParameters& final_parameters)
      : ForwardingTrainer(std::move(inner)), worker_(worker), final_parameters_(final_parameters) {}
  ~Recording() override {
    const std::span<float> values = inner().parameters();
    final_parameters_.Put(worker_, {values.begin(), values.end()});
  }

 private:
  const WorkerId worker_;
  FinalParameters& final_parameters_;
};

std::unique_ptr<LocalTrainer> MustMakeTrainer(const RunConfig& config, WorkerId worker,
                                              uint32_t workers) {
  return CreateSyntheticTrainer(config, worker, workers).value();
}

}  // namespace

TrainerFactory MakeFactory(const ClusterOptions& options, FinalParameters& final_parameters) {
  return [&options, &final_parameters](const RunConfig& config, WorkerId worker, uint32_t workers,
                                       int /*threads*/) -> StatusOr<std::unique_ptr<LocalTrainer>> {
    INTERLUDE_ASSIGN_OR_RETURN(std::unique_ptr<LocalTrainer> trainer,
                               CreateSyntheticTrainer(config, worker, workers));
    if (options.hook) trainer = options.hook(std::move(trainer), worker);
    return std::unique_ptr<LocalTrainer>(
        std::make_unique<Recording>(std::move(trainer), worker, final_parameters));
  };
}

void FinalParameters::Put(WorkerId worker, std::vector<float> values) {
  MutexLock lock(mutex_);
  values_[worker] = std::move(values);
}

std::map<WorkerId, std::vector<float>> FinalParameters::Take() {
  MutexLock lock(mutex_);
  return std::move(values_);
}

RunConfig SyntheticConfig(uint64_t params, uint64_t chunk_params, uint32_t rounds) {
  RunConfig config;
  config.model.kind = ModelKind::kSynthetic;
  config.model.synthetic_params = params;
  config.model.synthetic_step_ms = 0;
  config.round.rounds = rounds;
  config.round.local_steps = 4;
  config.round.chunk_params = chunk_params;
  config.round.patience = 0;  // a busy machine makes nobody late
  return config;
}

std::string FreshDirectory(const std::string& name) {
  const std::string path =
      testing::TempDir() + "/interlude-" + name + "-" + std::to_string(::getpid());
  std::filesystem::remove_all(path);
  return path;
}

Layout LayoutOf(const RunConfig& config) {
  return CreateSyntheticTrainer(config, 0, 1).value()->layout();
}

ClusterResult RunCluster(const ClusterOptions& options) {
  ClusterResult result;
  CoordinatorOptions coordinator_options;
  coordinator_options.config = options.config;
  coordinator_options.workers = options.workers;
  coordinator_options.directory = options.directory;
  coordinator_options.threads = 2;
  auto coordinator = Coordinator::Start(coordinator_options, SystemClock(), options.observer);
  if (!coordinator.ok()) {
    result.outcome = coordinator.status();
    return result;
  }
  FinalParameters final_parameters;
  const TrainerFactory factory = MakeFactory(options, final_parameters);
  result.workers.assign(options.workers, UnknownError("not run"));
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < options.workers; ++i) {
    threads.emplace_back([&, i] {
      WorkerOptions worker_options;
      worker_options.coordinator = (*coordinator)->address();
      worker_options.requested_worker = static_cast<WorkerId>(i);
      worker_options.threads = 1;
      result.workers[i] = RunWorker(worker_options, factory, SystemClock(), [] { return false; });
    });
  }
  for (std::thread& thread : threads) thread.join();
  (*coordinator)->Stop("all workers are gone");  // it would wait for others
  result.outcome = (*coordinator)->Wait();
  result.parameters = final_parameters.Take();
  return result;
}

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

void ExpectSerialCopies(const ClusterResult& result, const ClusterOptions& options) {
  ASSERT_TRUE(result.outcome.ok()) << result.outcome.status().ToString();
  const std::vector<float> expected =
      ReplaySerially(options.config, options.workers, options.config.round.rounds);
  EXPECT_EQ(result.parameters.size(), options.workers);
  for (const auto& [worker, values] : result.parameters) {
    EXPECT_TRUE(SameBits(values, expected)) << "worker " << worker;
  }
}

std::unique_ptr<LocalTrainer> FlipOneBit(std::unique_ptr<LocalTrainer> trainer, size_t position) {
  uint32_t bits = 0;
  float& value = trainer->parameters()[position];
  std::memcpy(&bits, &value, sizeof(bits));
  bits ^= 1;
  std::memcpy(&value, &bits, sizeof(bits));
  return trainer;
}

namespace {

/// A worker's delta of a chunk as the coordinator decodes it.
std::vector<float> SentDelta(Codec codec, std::span<const float> params,
                             std::span<const float> base) {
  std::vector<std::byte> payload(EncodedBytes(codec, base.size()));
  Hash128 hash;
  EncodeDelta(codec, params, base, {}, payload, hash);
  const std::span<const std::byte> sent = payload;
  const float one = 1.0f;
  std::vector<float> delta(base.size());
  DecodeAverage(codec, {&sent, 1}, {&one, 1}, delta);
  return delta;
}

}  // namespace

std::vector<float> ReplaySerially(const RunConfig& config, uint32_t workers, uint32_t rounds) {
  std::set<WorkerId> all;
  for (uint32_t w = 0; w < workers; ++w) all.insert(static_cast<WorkerId>(w));
  return ReplaySerially(config, workers, std::vector<std::set<WorkerId>>(rounds, all));
}

std::vector<float> ReplaySerially(const RunConfig& config, uint32_t workers,
                                  const std::vector<std::set<WorkerId>>& members) {
  std::vector<std::unique_ptr<LocalTrainer>> trainers;
  for (uint32_t w = 0; w < workers; ++w)
    trainers.push_back(MustMakeTrainer(config, static_cast<WorkerId>(w), workers));
  const Layout layout = trainers[0]->layout();
  const Codec codec = CodecOf(config);
  const OuterOptimizerOptions optimizer = OuterOptimizerOf(config);
  const size_t per_param = OuterStatePerParam(optimizer.type);

  std::vector<float> base(trainers[0]->parameters().begin(), trainers[0]->parameters().end());
  std::vector<float> state(layout.total_params() * per_param);
  std::vector<float> residual(IsLossy(codec) ? layout.total_params() : 0);
  for (uint32_t round = 1; round <= members.size(); ++round) {
    std::vector<uint64_t> samples;
    std::vector<LocalTrainer*> present;
    for (const WorkerId worker : members[round - 1])
      present.push_back(trainers[static_cast<size_t>(worker)].get());
    for (LocalTrainer* trainer : present) {
      std::copy(base.begin(), base.end(), trainer->parameters().begin());
      const TrainRequest request{round, uint64_t{round - 1} * config.round.local_steps,
                                 config.round.local_steps};
      samples.push_back(
          trainer->TrainRound(request, [](uint32_t, double) { return true; }).value().samples);
    }
    for (uint32_t c = 0; c < layout.num_chunks(); ++c) {
      const ChunkRange range = layout.chunk(c);
      const std::span<float> base_chunk = std::span(base).subspan(range.begin, range.count);
      std::vector<std::vector<float>> deltas;
      for (LocalTrainer* trainer : present) {
        deltas.push_back(
            SentDelta(codec, trainer->parameters().subspan(range.begin, range.count), base_chunk));
      }
      std::vector<float> sum(range.count);
      MergeDeltas(MergeOptionsOf(config),
                  std::vector<std::span<const float>>(deltas.begin(), deltas.end()), samples, sum);
      OuterStep(optimizer, round, sum,
                std::span(state).subspan(range.begin * per_param, range.count * per_param), sum);
      const std::span<float> kept = residual.empty()
                                        ? std::span<float>()
                                        : std::span(residual).subspan(range.begin, range.count);
      std::vector<std::byte> sync(EncodedBytes(codec, range.count));
      EncodeUpdate(codec, sum, kept, base_chunk, sync);
    }
  }
  return base;
}

StatusOr<std::vector<float>> ReadModel(const std::string& path, const Layout& layout) {
  INTERLUDE_ASSIGN_OR_RETURN(const SafetensorsHeader header, ReadSafetensorsHeader(path));
  std::vector<float> values(layout.total_params());
  for (const ParameterSpec& parameter : layout.parameters()) {
    const auto entry =
        std::find_if(header.entries.begin(), header.entries.end(),
                     [&](const SafetensorsEntry& e) { return e.name == parameter.name; });
    if (entry == header.entries.end())
      return NotFoundError("no tensor {} in {}", parameter.name, path);
    INTERLUDE_RETURN_IF_ERROR(ReadSafetensorsFloats(
        path, header, *entry, 0, std::span(values).subspan(parameter.offset, parameter.count)));
  }
  return values;
}

}  // namespace interlude
