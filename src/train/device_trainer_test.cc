// A trainer whose parameters the worker reaches through a DeviceModelCopy, against the same one in
// host memory. "cpu_tensors" runs a device's code without one.
#include <ATen/Context.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "train/device.h"
#include "train/test_images.h"
#include "train/trainer_factory.h"

namespace interlude {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Bytes = std::vector<std::byte>;

constexpr uint32_t kSteps = 5;

std::unique_ptr<LocalTrainer> Make(const RunConfig& config) {
  auto trainer = CreateTorchTrainer(config, 0, 1, 1);
  EXPECT_TRUE(trainer.ok()) << trainer.status().ToString();
  return *std::move(trainer);
}

std::unique_ptr<ModelCopy> Copy(LocalTrainer& trainer, const RunConfig& config) {
  auto copy = trainer.MakeDeviceCopy(config.round);
  EXPECT_TRUE(copy.ok()) << copy.status().ToString();
  return *std::move(copy);
}

std::vector<float> Base(ModelCopy& copy, const ChunkRange& range) {
  std::vector<float> values(range.count);
  copy.ReadBase(range.index, std::as_writable_bytes(std::span(values)));
  return values;
}

bool SameBits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

class DeviceTrainerTest : public ::testing::TestWithParam<ModelKind> {
 protected:
  DeviceTrainerTest() {
    config_.round.error_feedback = true;
    device_config_ = config_;
    device_config_.train.device = "cpu_tensors";
  }

  RunConfig config_ = TinyImageRun(GetParam());
  RunConfig device_config_;
};

// The chunk's part of the worker's exchange in host memory.
struct HostModel {
  LocalTrainer& trainer;
  std::vector<float> base{trainer.parameters().begin(), trainer.parameters().end()};
  std::vector<float> residual = std::vector<float>(base.size());

  static std::span<float> Part(std::span<float> all, const ChunkRange& range) {
    return all.subspan(range.begin, range.count);
  }
  Bytes Encode(const ChunkRange& range) {
    Bytes payload(EncodedBytes(Codec::kQ4, range.count));
    Hash128 ignored;
    EncodeDelta(Codec::kQ4, Part(trainer.parameters(), range), Part(base, range),
                Part(residual, range), payload, ignored);
    return payload;
  }
  Hash128 Apply(const ChunkRange& range, std::span<const std::byte> payload) {
    return ApplyAndHash(Codec::kQ4, payload, Part(base, range), Part(trainer.parameters(), range));
  }
};

TEST_P(DeviceTrainerTest, RoundsGiveTheSamePayloadsHashesAndParametersAsInHostMemory) {
  const auto host = Make(config_);
  const auto device = Make(device_config_);
  HostModel model{*host};
  const auto copy = Copy(*device, device_config_);
  ASSERT_NE(copy, nullptr);
  const Layout& layout = host->layout();
  EXPECT_EQ(device->layout().signature(), layout.signature());
  for (uint32_t round = 1; round <= 3; ++round) {
    const TrainRequest request{
        .round = round, .first_step = uint64_t{round - 1} * kSteps, .local_steps = kSteps};
    const auto expected = host->TrainRound(request, nullptr);
    const auto result = device->TrainRound(request, nullptr);
    ASSERT_TRUE(expected.ok() && result.ok()) << result.status().ToString();
    EXPECT_EQ(result->mean_loss, expected->mean_loss);
    std::vector<Hash128> hashes;
    for (uint32_t chunk = 0; chunk < layout.num_chunks(); ++chunk) {
      const ChunkRange range = layout.chunk(chunk);
      const Bytes payload = model.Encode(range);
      Bytes of_device(payload.size());
      Hash128 hash;
      EXPECT_FALSE(copy->Encode(chunk, of_device, hash).first_nonfinite);
      ASSERT_EQ(of_device, payload) << "round " << round << ", chunk " << chunk;
      EXPECT_EQ(hash, HashBytes(payload));
      copy->Apply(chunk, payload);
      hashes.push_back(model.Apply(range, payload));
    }
    for (uint32_t chunk = 0; chunk < layout.num_chunks(); ++chunk) {
      EXPECT_EQ(copy->BaseHash(chunk), hashes[chunk]);
      EXPECT_TRUE(SameBits(Base(*copy, layout.chunk(chunk)),
                           HostModel::Part(model.base, layout.chunk(chunk))));
    }
  }
  const auto expected = host->Evaluate(0, 1);
  const auto result = device->Evaluate(0, 1);
  ASSERT_TRUE(expected.ok() && result.ok());
  EXPECT_EQ(result->correct, expected->correct);
  EXPECT_EQ(result->loss_sum, expected->loss_sum);
}

TEST_P(DeviceTrainerTest, ParametersBeginAsInHostMemoryAndAreNotReachableByPointer) {
  const auto host = Make(config_);
  const auto device = Make(device_config_);
  EXPECT_TRUE(device->parameters().empty());
  const auto copy = Copy(*device, device_config_);
  ASSERT_NE(copy, nullptr);
  for (uint32_t chunk = 0; chunk < host->layout().num_chunks(); ++chunk) {
    const ChunkRange range = host->layout().chunk(chunk);
    EXPECT_TRUE(SameBits(Base(*copy, range), host->parameters().subspan(range.begin, range.count)));
  }
}

TEST_P(DeviceTrainerTest, InHostMemoryThereIsNoDeviceCopy) {
  EXPECT_EQ(Copy(*Make(config_), config_), nullptr);
}

TEST_P(DeviceTrainerTest, AParameterBeyondAllBoundsIsNamedWithItsValue) {
  device_config_.train.learning_rate = 3e37;
  device_config_.train.weight_decay = 10;
  device_config_.train.warmup_steps = 0;
  const auto trainer = Make(device_config_);
  const auto copy = Copy(*trainer, device_config_);
  const Layout& layout = trainer->layout();
  for (uint32_t chunk = 0; chunk < layout.num_chunks(); ++chunk) {
    std::vector<float> values = Base(*copy, layout.chunk(chunk));
    for (float& value : values) value *= 100;
    ASSERT_TRUE(copy->ReplaceBase(chunk, std::as_bytes(std::span(values))).ok());
  }
  const Status status =
      trainer->TrainRound({.round = 0, .first_step = 0, .local_steps = 1}, nullptr).status();
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("inf"), HasSubstr("after local step 0")));
}

INSTANTIATE_TEST_SUITE_P(Models, DeviceTrainerTest,
                         ::testing::Values(ModelKind::kVit, ModelKind::kConvNet),
                         [](const auto& instance) {
                           return instance.param == ModelKind::kVit ? "Vit" : "ConvNet";
                         });

TEST(TrainDeviceTest, TheNamesAreThoseOfTheDocumentation) {
  EXPECT_TRUE(FindTrainDevice("cpu").value().in_host_memory);
  const TrainDevice forced = FindTrainDevice("cpu_tensors").value();
  EXPECT_TRUE(forced.device.is_cpu());
  EXPECT_FALSE(forced.in_host_memory);
  for (const char* name : {"", "gpu", "cuda:", "cuda:x", "cuda:1x", "cuda:-1", "cuda1", "cpu:0"}) {
    const Status status = FindTrainDevice(name).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << name;
    EXPECT_THAT(status.message(), HasSubstr("cpu_tensors"));
  }
}

TEST(TrainDeviceTest, AnAbsentCudaDeviceIsAnErrorThatSaysWhatToDo) {
  const Status status = FindTrainDevice("cuda:99").status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("cuda:99"), HasSubstr("CUDA_VISIBLE_DEVICES")));
  if (at::hasCUDA()) {
    EXPECT_EQ(FindTrainDevice("cuda").value().device, at::Device(at::kCUDA, 0));
    return;
  }
  EXPECT_THAT(FindTrainDevice("cuda").status().message(), HasSubstr("train.device = \"cpu\""));
  RunConfig config = TinyImageRun(ModelKind::kConvNet);
  config.train.device = "cuda";
  EXPECT_EQ(CreateTorchTrainer(config, 0, 1, 1).status().code(), StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace interlude
