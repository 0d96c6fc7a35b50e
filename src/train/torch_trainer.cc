#include <ATen/ATen.h>
#include <c10/util/Exception.h>

#include <array>
#include <cmath>
#include <exception>

#include "model/model_parameters.h"
#include "train/device.h"
#include "train/device_model_copy.h"
#include "train/first_parameters.h"
#include "train/gradient.h"
#include "train/image_data.h"
#include "train/local_optimizer.h"
#include "train/models.h"
#include "train/non_finite.h"
#include "train/schedule.h"
#include "train/scoring.h"
#include "train/shard.h"
#include "train/tensor_non_finite.h"
#include "train/torch_setup.h"
#include "train/trainer_factory.h"

namespace interlude {

namespace {

constexpr uint64_t kEvaluationBatch = 250;
constexpr const char* kFashionClasses[] = {"T-shirt/top", "Trouser",   "Pullover", "Dress",
                                           "Coat",        "Sandal",    "Shirt",    "Sneaker",
                                           "Bag",         "Ankle boot"};

// Where LibTorch's exceptions end: whatever `body` throws becomes a Status.
template <typename Body>
auto WithoutExceptions(Body&& body) -> decltype(body()) {
  try {
    return body();
  } catch (const c10::Error& error) {
    return InternalError("LibTorch: {}", error.what_without_backtrace());
  } catch (const std::exception& error) {
    return InternalError("LibTorch: {}", error.what());
  }
}

Status CheckFit(const ModelConfig& model, const ImageData& data) {
  if (model.image_size != data.train.height || model.image_size != data.train.width) {
    return InvalidArgumentError("model.image_size = {}, but the images are {} x {}",
                                model.image_size, data.train.height, data.train.width);
  }
  if (model.channels != data.train.channels) {
    return InvalidArgumentError("model.channels = {}, but the images have {}", model.channels,
                                data.train.channels);
  }
  if (model.classes != data.classes) {
    return InvalidArgumentError("model.classes = {}, but the data set has {}", model.classes,
                                data.classes);
  }
  return OkStatus();
}

NamedMemory NameImages(const ImageSet& images) {
  return {"data", images.pixels.data(), images.pixels.size(), MemoryPlace::kHeap};
}

class TorchTrainer final : public LocalTrainer {
 public:
  TorchTrainer(const RunConfig& config, const TrainDevice& device, Layout layout,
               const std::vector<ModelParameter>& tensors, ImageData data, ShardedOrder order,
               uint32_t worker)
      : config_(config),
        device_(device),
        data_(std::move(data)),
        data_names_{NameImages(data_.train), NameImages(data_.test)},
        order_(std::move(order)),
        worker_(worker),
        parameters_(std::move(layout), device),
        model_(CreateModel(config.model, parameters_)),
        optimizer_(CreateLocalOptimizer(config.train, tensors, parameters_)) {}

  // Before anything else.
  Status Initialize() {
    INTERLUDE_ASSIGN_OR_RETURN(first_parameters_, FillFirstParameters(config_, parameters_));
    return OkStatus();
  }

  const Layout& layout() const override { return parameters_.layout(); }
  std::span<float> parameters() override { return parameters_.span(); }

  bool MayProvideBase() const override {
    return first_parameters_ != FirstParameters::kPlaceholder;
  }

  DataFacts data_facts() const override {
    return {.classes = {std::begin(kFashionClasses), std::end(kFashionClasses)},
            .mean = {data_.mean},
            .deviation = {data_.deviation}};
  }

  StatusOr<std::unique_ptr<ModelCopy>> MakeDeviceCopy(const RoundConfig& round) override {
    using Copy = std::unique_ptr<ModelCopy>;
    if (device_.in_host_memory) return Copy();
    const Codec codec = round.codec == CodecKind::kQ4 ? Codec::kQ4 : Codec::kFp32;
    return WithoutExceptions([&]() -> StatusOr<Copy> {
      return CreateDeviceModelCopy(layout(), codec, round.error_feedback, parameters_.values());
    });
  }

  StatusOr<TrainResult> TrainRound(const TrainRequest& request,
                                   const StepCallback& on_step) override {
    return WithoutExceptions([&] { return Train(request, on_step); });
  }

  StatusOr<EvaluationResult> Evaluate(uint32_t part, uint32_t parts) override {
    if (part >= parts)
      return InvalidArgumentError("part {} of {} parts of the test set", part, parts);
    return WithoutExceptions([&] { return Score(part, parts); });
  }

 private:
  StatusOr<TrainResult> Train(const TrainRequest& request, const StepCallback& on_step) {
    TrainResult result;
    for (uint32_t done = 0; done < request.local_steps; ++done) {
      const uint64_t step = request.first_step + done;
      INTERLUDE_ASSIGN_OR_RETURN(const double loss, Step(step, request.round));
      result.samples += config_.train.batch;
      result.mean_loss += (loss - result.mean_loss) / (done + 1);  // all batches are of one size
      result.last_loss = loss;
      if (on_step && !on_step(done + 1, loss)) {
        return CancelledError("training stopped after local step {} of round {}", step,
                              request.round);
      }
    }
    INTERLUDE_RETURN_IF_ERROR(CheckParameters(request));
    return result;
  }

  // One local step; returns the loss of its batch, which was computed before the update. A loss
  // that is not finite leaves the parameters as they are.
  StatusOr<double> Step(uint64_t step, uint32_t round) {
    const Batch batch = MakeBatch(data_.train, order_.Batch(step));
    StepNoise noise(StepSeed(config_.seed, worker_, step));
    const double loss = ComputeGradient(config_.train, *model_, batch, parameters_, &noise);
    if (!std::isfinite(loss)) return NonFiniteLoss(loss, step, round);
    if (config_.train.clip_norm > 0) ClipGradient(parameters_.gradient(), config_.train.clip_norm);
    optimizer_->Step(LearningRate(config_.train, config_.total_steps(), step));
    return loss;
  }

  Batch MakeBatch(const ImageSet& set, std::span<const uint32_t> samples) const {
    const auto size = static_cast<int64_t>(samples.size());
    Batch batch{.images = at::empty({size, set.channels, set.height, set.width}, at::kFloat),
                .labels = at::empty({size}, at::kLong)};
    const size_t pixels = set.image_pixels();
    const std::span<float> images(batch.images.data_ptr<float>(), samples.size() * pixels);
    int64_t* const labels = batch.labels.data_ptr<int64_t>();
    for (size_t i = 0; i < samples.size(); ++i) {
      data_.Normalize(set.image(samples[i]), images.subspan(i * pixels, pixels));
      labels[i] = set.labels[samples[i]];
    }
    batch.images = batch.images.to(device_.device);
    batch.labels = batch.labels.to(device_.device);
    return batch;
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

  StatusOr<EvaluationResult> Score(uint32_t part, uint32_t parts) {
    const at::NoGradGuard no_gradient;
    Scorer scorer(config_.model.classes);
    std::vector<uint32_t> samples;
    for (uint64_t next = part; next < data_.test.size();) {
      samples.clear();
      for (; next < data_.test.size() && samples.size() < kEvaluationBatch; next += parts) {
        samples.push_back(static_cast<uint32_t>(next));
      }
      const Batch batch = MakeBatch(data_.test, samples);
      scorer.Add(ForwardAs(config_.train.autocast, *model_, batch.images), batch.labels);
    }
    return scorer.result();
  }

  const RunConfig config_;
  const TrainDevice device_;
  const ImageData data_;
  const std::array<NamedMemory, 2> data_names_;
  ShardedOrder order_;
  const uint32_t worker_;
  FlatParameters parameters_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<LocalOptimizer> optimizer_;
  FirstParameters first_parameters_ = FirstParameters::kMade;
};

StatusOr<std::unique_ptr<LocalTrainer>> Create(const RunConfig& config, const TrainDevice& device,
                                               uint32_t worker, uint32_t workers) {
  INTERLUDE_ASSIGN_OR_RETURN(const std::vector<ModelParameter> tensors,
                             ModelParameters(config.model));
  INTERLUDE_ASSIGN_OR_RETURN(Layout layout, ModelLayout(config));
  INTERLUDE_ASSIGN_OR_RETURN(ImageData data, LoadImageData(config.data));
  INTERLUDE_RETURN_IF_ERROR(CheckFit(config.model, data));
  INTERLUDE_ASSIGN_OR_RETURN(
      ShardedOrder order,
      ShardedOrder::Create(data.train.size(), config.train.batch, config.seed, worker, workers));
  auto trainer = std::make_unique<TorchTrainer>(config, device, std::move(layout), tensors,
                                                std::move(data), std::move(order), worker);
  INTERLUDE_RETURN_IF_ERROR(trainer->Initialize());
  return std::unique_ptr<LocalTrainer>(std::move(trainer));
}

}  // namespace

StatusOr<std::unique_ptr<LocalTrainer>> CreateTorchTrainer(const RunConfig& config, uint32_t worker,
                                                           uint32_t workers, int threads) {
  return WithoutExceptions([&]() -> StatusOr<std::unique_ptr<LocalTrainer>> {
    INTERLUDE_ASSIGN_OR_RETURN(const TrainDevice device, FindTrainDevice(config.train.device));
    SetUpTorch(threads, device.device);
    return Create(config, device, worker, workers);
  });
}

}  // namespace interlude
