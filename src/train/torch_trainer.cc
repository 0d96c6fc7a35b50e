#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "config/rank_devices.h"
#include "images/class_list.h"
#include "images/image_pipeline.h"
#include "images/mixup.h"
#include "model/model_parameters.h"
#include "train/device.h"
#include "train/device_model_copy.h"
#include "train/first_parameters.h"
#include "train/gradient.h"
#include "train/kept_statistics.h"
#include "train/loaded_images.h"
#include "train/local_optimizer.h"
#include "train/models.h"
#include "train/non_finite.h"
#include "train/own_model.h"
#include "train/rank_step.h"
#include "train/schedule.h"
#include "train/scoring.h"
#include "train/shard.h"
#include "train/tensor_non_finite.h"
#include "train/torch_setup.h"
#include "train/trainer_factory.h"
#include "train/without_exceptions.h"

namespace interlude {

namespace {

// With the usual momentum of 0.1 half a percent is left of what was before.
constexpr uint64_t kStatisticsSteps = 50;

Status CheckFit(const RunConfig& config, const DataSet& data) {
  const ModelConfig& model = config.model;
  if (IsLocal(config.data) && data.classes.size() > kMostClassNames) {
    return InvalidArgumentError(
        "data.sharing = \"local\" with {} classes: of more than {} nobody compares the names",
        data.classes.size(), kMostClassNames);
  }
  if (model.classes == data.classes.size()) return OkStatus();
  const bool may_list = config.data.name == "folder" || config.data.name == "csv";
  const std::string hint =
      may_list ? fmt::format("; where pictures of some are not here, {} beside them names all",
                             kClassListName)
               : "";
  return InvalidArgumentError("model.classes = {}, but the data set has {}{}", model.classes,
                              data.classes.size(), hint);
}

NamedMemory NameImages(const DataPart& part) {
  return {"data", part.pixels.bytes.data(), part.pixels.bytes.size(), MemoryPlace::kHeap};
}

class TorchTrainer final : public LocalTrainer {
 public:
  TorchTrainer(const RunConfig& config, const TrainDevice& device, Layout layout, OpenedModel model,
               std::unique_ptr<ImagePipeline> pictures, ShardedOrder order, uint32_t worker,
               RankGroup* ranks)
      : config_(config),
        device_(device),
        pictures_(std::move(pictures)),
        data_names_{NameImages(pictures_->data().train), NameImages(pictures_->data().test)},
        order_(std::move(order)),
        worker_(worker),
        ranks_(ranks),
        parameters_(std::move(layout), device),
        optimizer_(CreateLocalOptimizer(config.train, model.tensors, parameters_)),
        model_(BindModel(config.model, std::move(model), parameters_)) {}

  // Before anything else.
  Status Initialize() {
    if (!IsMadeHere(config_.model.kind)) return OkStatus();  // it came with values
    INTERLUDE_ASSIGN_OR_RETURN(first_parameters_, FillFirstParameters(config_, parameters_));
    return OkStatus();
  }

  const Layout& layout() const override { return parameters_.layout(); }
  std::span<float> parameters() override { return parameters_.span(); }

  bool MayProvideBase() const override {
    return first_parameters_ != FirstParameters::kToBeReplaced;
  }

  DataFacts data_facts() const override {
    const PixelStatistics& statistics = pictures_->transform().statistics();
    const auto channels = static_cast<std::ptrdiff_t>(config_.model.channels);
    const DataSet& data = pictures_->data();
    return {.classes = CleanClassNames(data.classes),
            .mean = {statistics.mean.begin(), statistics.mean.begin() + channels},
            .deviation = {statistics.deviation.begin(), statistics.deviation.begin() + channels},
            .counts = KeptClassCounts({.train = CountByClass(data.train, data.classes.size()),
                                       .test = CountByClass(data.test, data.classes.size())})};
  }

  StatusOr<std::unique_ptr<ModelCopy>> MakeDeviceCopy(const RoundConfig& round) override {
    using Copy = std::unique_ptr<ModelCopy>;
    if (device_.in_host_memory) return Copy();
    return WithoutExceptions([&]() -> StatusOr<Copy> {
      return CreateDeviceModelCopy(layout(), CodecOf(round), round.error_feedback,
                                   parameters_.values());
    });
  }

  StatusOr<TrainResult> TrainRound(const TrainRequest& request,
                                   const StepCallback& on_step) override {
    return WithoutExceptions([&] { return Train(request, on_step); });
  }

  StatusOr<EvaluationResult> Evaluate(uint32_t part, uint32_t parts) override {
    if (part >= parts)
      return InvalidArgumentError("part {} of {} parts of the test set", part, parts);
    if (IsLocal(config_.data)) {
      part = 0;
      parts = 1;
    }
    return WithoutExceptions([&]() -> StatusOr<EvaluationResult> {
      INTERLUDE_RETURN_IF_ERROR(TakeParameters());
      return Score(part + parts * rank(), parts * ranks());
    });
  }

 private:
  StatusOr<TrainResult> Train(const TrainRequest& request, const StepCallback& on_step) {
    INTERLUDE_RETURN_IF_ERROR(TakeParameters());
    TrainResult result;
    bool go_on = true;
    for (uint32_t done = 0; done < request.local_steps; ++done) {
      const uint64_t step = request.first_step + done;
      INTERLUDE_ASSIGN_OR_RETURN(const double loss, Step(step, request.round, go_on));
      result.samples += config_.train.batch;
      result.mean_loss += (loss - result.mean_loss) / (done + 1);  // all batches are of one size
      result.last_loss = loss;
      go_on = !on_step || on_step(done + 1, loss);
      // Several ranks stop in their next step, all at the same one, or at the round's end.
      if (!go_on && ranks_ == nullptr) return Stopped(step, request.round);
    }
    INTERLUDE_RETURN_IF_ERROR(CheckParameters(request));
    if (ranks_ != nullptr) {
      INTERLUDE_RETURN_IF_ERROR(CheckSameParameters(*ranks_, parameters_.values(), request.round));
    }
    if (!go_on) return Stopped(request.first_step + request.local_steps - 1, request.round);
    result.load = LoadSince(result.samples / ranks());
    return result;
  }

  static Status Stopped(uint64_t step, uint32_t round) {
    return CancelledError("training stopped after local step {} of round {}", step, round);
  }

  uint32_t rank() const { return ranks_ == nullptr ? 0 : ranks_->rank(); }
  uint32_t ranks() const { return ranks_ == nullptr ? 1 : ranks_->ranks(); }

  // The worker's own, which is rank 0, has written to its parameters alone.
  Status TakeParameters() {
    return ranks_ == nullptr ? OkStatus() : ranks_->Broadcast(parameters_.values());
  }

  LoadFigures LoadSince(uint64_t samples) {
    const LoaderCounters before = std::exchange(loaded_, pictures_->training().counters());
    return {.wait_ns = loaded_.wait_ns - before.wait_ns,
            .cpu_ns = loaded_.cpu_ns - before.cpu_ns,
            .bytes = samples * pictures_->transform().elements() * sizeof(float)};
  }

  // One local step; returns the loss of its batch, which was computed before the update. A loss
  // that is not finite leaves the parameters as they are. `go_on` is this rank's wish.
  StatusOr<double> Step(uint64_t step, uint32_t round, bool go_on) {
    INTERLUDE_ASSIGN_OR_RETURN(Batch batch, TrainingBatch(step));
    if (config_.augment.mixup > 0) batch = Mixed(batch, step);
    StepNoise noise(StepSeed(config_.seed, worker_, step, rank()));
    double loss = ComputeGradient(config_.train, *model_, batch, parameters_, &noise);
    if (ranks_ != nullptr) {
      INTERLUDE_ASSIGN_OR_RETURN(const StepState all, AgreeOnStep(*ranks_, parameters_.gradient(),
                                                                  {.loss = loss, .go_on = go_on}));
      if (!all.go_on) return Stopped(step - 1, round);
      loss = all.loss;
    }
    if (!std::isfinite(loss)) return NonFiniteLoss(loss, step, round);
    if (config_.train.clip_norm > 0) ClipGradient(parameters_.gradient(), config_.train.clip_norm);
    optimizer_->Step(LearningRate(config_.train, config_.total_steps(), step));
    return loss;
  }

  // Steps usually follow one another, so that the next ones' batches are asked for ahead.
  StatusOr<Batch> TrainingBatch(uint64_t step) {
    BatchLoader& loader = pictures_->training();
    if (loader.requested() == 0 || step != next_step_) {
      loader.Clear();
      next_request_ = step;
    }
    next_step_ = step + 1;
    const uint64_t ahead = step + pictures_->config().prefetch;
    for (; next_request_ <= std::max(step, std::min(ahead, config_.total_steps() - 1));
         ++next_request_) {
      const std::span<const uint32_t> batch = order_.Batch(next_request_);
      const size_t part = batch.size() / ranks();
      const std::span<const uint32_t> samples = batch.subspan(part * rank(), part);
      loader.Request({.epoch = next_request_ / order_.steps_per_epoch(),
                      .samples = {samples.begin(), samples.end()}});
    }
    return Take(loader);
  }

  Batch Mixed(const Batch& batch, uint64_t step) const {
    const uint64_t epoch = step / order_.steps_per_epoch();
    const Mixup mixup =
        MakeMixup(config_.augment.mixup, config_.seed, epoch, step % order_.steps_per_epoch(),
                  static_cast<uint32_t>(batch.size()));
    const at::Tensor partners = at::empty({batch.size()}, at::kLong);
    std::ranges::copy(mixup.partner, partners.data_ptr<int64_t>());
    return MixUp(batch, partners.to(device_.device),
                 at::full({batch.size()}, mixup.lambda, batch.images.options()));
  }

  StatusOr<Batch> Take(BatchLoader& loader) const {
    INTERLUDE_ASSIGN_OR_RETURN(LoadedBatch taken, loader.Take());
    const at::Tensor labels = at::empty({static_cast<int64_t>(taken.labels().size())}, at::kLong);
    std::ranges::copy(taken.labels(), labels.data_ptr<int64_t>());
    const at::Tensor images =
        ImagesOf(std::move(taken), config_.model.channels, config_.model.image_size);
    return Batch{.images = images.to(device_.device), .labels = labels.to(device_.device)};
  }

  std::optional<size_t> NonFiniteParameter() {
    return device_.in_host_memory ? FindNonFinite(parameters_.span())
                                  : FindNonFinite(parameters_.values());
  }

  float Parameter(size_t position) {
    return parameters_.values()[static_cast<int64_t>(position)].item<float>();
  }

  Status NonFiniteLoss(double loss, uint64_t step, uint32_t round) {
    const std::optional<size_t> position = NonFiniteParameter();
    if (position) {
      return DataLossError(
          "parameter {} is {} at local step {} (round {}), so the loss is {}; lower "
          "train.learning_rate = {}",
          layout().DescribePosition(*position), Parameter(*position), step, round, loss,
          config_.train.learning_rate);
    }
    return DataLossError(
        "the loss became {} at local step {} (round {}) while all parameters are finite; lower "
        "train.learning_rate = {}",
        loss, step, round, config_.train.learning_rate);
  }

  // The last step's update is in no loss yet.
  Status CheckParameters(const TrainRequest& request) {
    const std::optional<size_t> position = NonFiniteParameter();
    if (!position) return OkStatus();
    return DataLossError(
        "parameter {} is {} after local step {} (round {}); lower train.learning_rate = {}",
        layout().DescribePosition(*position), Parameter(*position),
        request.first_step + request.local_steps - 1, request.round, config_.train.learning_rate);
  }

  // Running statistics are neither exchanged nor saved: what fits the parameters is made of
  // training pictures, the same ones by every worker, or its own where data are local.
  Status RenewStatistics() {
    const uint64_t samples = pictures_->data().train.size();
    const auto batch = static_cast<uint32_t>(
        std::min(EvaluationBatch(pictures_->transform().elements()), samples));
    INTERLUDE_ASSIGN_OR_RETURN(ShardedOrder order,
                               ShardedOrder::Create(samples, batch, config_.seed, 0, 1));
    BatchLoader& loader = pictures_->training();
    loader.Clear();  // the next local step asks again
    StepNoise noise(config_.seed);
    for (uint64_t step = 0; step < kStatisticsSteps; ++step) {
      const std::span<const uint32_t> chosen = order.Batch(step);
      loader.Request(
          {.epoch = step / order.steps_per_epoch(), .samples = {chosen.begin(), chosen.end()}});
      INTERLUDE_ASSIGN_OR_RETURN(const Batch pictures, Take(loader));
      ForwardAs(config_.train.autocast, *model_, pictures.images, &noise);
    }
    loaded_ = loader.counters();  // no part of a round's training
    return OkStatus();
  }

  StatusOr<EvaluationResult> Score(uint32_t part, uint32_t parts) {
    const at::NoGradGuard no_gradient;
    const KeptStatistics kept(*model_);
    if (!kept.empty()) INTERLUDE_RETURN_IF_ERROR(RenewStatistics());
    const auto loader = pictures_->MakeEvaluationLoader();
    const uint64_t most = EvaluationBatch(pictures_->transform().elements());
    for (uint64_t next = part; next < pictures_->data().test.size();) {
      BatchRequest request{.training = false};
      for (; next < pictures_->data().test.size() && request.samples.size() < most; next += parts) {
        request.samples.push_back(static_cast<uint32_t>(next));
      }
      loader->Request(std::move(request));
    }
    Scorer scorer(config_.model.classes);
    while (loader->requested() > 0) {
      INTERLUDE_ASSIGN_OR_RETURN(const Batch batch, Take(*loader));
      scorer.Add(ForwardAs(config_.train.autocast, *model_, batch.images), batch.labels);
    }
    return scorer.result();
  }

  const RunConfig config_;
  const TrainDevice device_;
  const std::unique_ptr<ImagePipeline> pictures_;
  const std::array<NamedMemory, 2> data_names_;
  ShardedOrder order_;
  const uint32_t worker_;
  RankGroup* const ranks_;     // null: there is but one
  uint64_t next_step_ = 0;     // expected, if steps follow one another
  uint64_t next_request_ = 0;  // the first step whose batch wasn't asked for yet
  LoaderCounters loaded_;      // when the last round's training ended
  FlatParameters parameters_;
  std::unique_ptr<LocalOptimizer> optimizer_;
  std::unique_ptr<Model> model_;
  FirstParameters first_parameters_ = FirstParameters::kMade;
};

StatusOr<std::unique_ptr<LocalTrainer>> Create(const RunConfig& config, const TrainDevice& device,
                                               uint32_t worker, uint32_t workers, int threads,
                                               RankGroup* ranks) {
  if (ranks != nullptr)
    INTERLUDE_RETURN_IF_ERROR(CheckRankBatch(config.train.batch, ranks->ranks()));
  INTERLUDE_ASSIGN_OR_RETURN(OpenedModel model, OpenModel(config, device));
  INTERLUDE_ASSIGN_OR_RETURN(Layout layout, LayoutOf(model.tensors, config.round.chunk_params));
  const bool is_local = IsLocal(config.data);
  RunConfig seen = config;  // how the pictures are changed and in which order they come
  if (is_local) seen.seed = SeedOfWorker(config.seed, worker);
  INTERLUDE_ASSIGN_OR_RETURN(auto pictures, ImagePipeline::Open(seen, threads));
  INTERLUDE_RETURN_IF_ERROR(CheckFit(config, pictures->data()));
  INTERLUDE_ASSIGN_OR_RETURN(
      ShardedOrder order,
      ShardedOrder::Create(pictures->data().train.size(), config.train.batch, seen.seed,
                           is_local ? 0 : worker, is_local ? 1 : workers));
  auto trainer =
      std::make_unique<TorchTrainer>(config, device, std::move(layout), std::move(model),
                                     std::move(pictures), std::move(order), worker, ranks);
  INTERLUDE_RETURN_IF_ERROR(trainer->Initialize());
  return std::unique_ptr<LocalTrainer>(std::move(trainer));
}

}  // namespace

StatusOr<std::unique_ptr<LocalTrainer>> CreateTorchTrainer(const RunConfig& config, uint32_t worker,
                                                           uint32_t workers, int threads,
                                                           RankGroup* ranks) {
  return WithoutExceptions([&]() -> StatusOr<std::unique_ptr<LocalTrainer>> {
    INTERLUDE_ASSIGN_OR_RETURN(const TrainDevice device, FindTrainDevice(config.train.device));
    // On a device some operators (pooling's gradient) know only one way, and nobody knows which
    // ones a model has that isn't ours.
    SetUpTorch(threads, device.device.is_cpu() && IsMadeHere(config.model.kind));
    return Create(config, device, worker, workers, threads, ranks);
  });
}

}  // namespace interlude
