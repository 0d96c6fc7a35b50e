// Whether the account of memory explains a process that trains with LibTorch.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/resident_memory.h"
#include "train/test_images.h"
#include "train/trainer_factory.h"

namespace interlude {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

/// 4.8 M parameters: large beside what LibTorch itself holds.
RunConfig MediumVit() {
  RunConfig config = TinyImageRun(ModelKind::kVit);
  config.model.hidden_size = 256;
  config.model.mlp_size = 1024;
  config.model.heads = 4;
  config.model.layers = 6;
  return config;
}

void ExpectWithinTwoPercent(int64_t bytes, size_t expected) {
  EXPECT_GE(bytes, static_cast<int64_t>(expected) * 98 / 100);
  EXPECT_LE(bytes, static_cast<int64_t>(expected) * 102 / 100 + kMiB);
}

TEST(TrainMemory, TheSumExplainsAProcessThatTrains) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "a sanitizer's memory";
#endif
  if (!ExplainResidentMemory()) GTEST_SKIP() << "no page table to read";
  const RunConfig config = MediumVit();
  auto trainer = CreateTorchTrainer(config, 0, 1, 2);
  ASSERT_TRUE(trainer.ok()) << trainer.status().ToString();
  ASSERT_TRUE(
      (*trainer)->TrainRound({.round = 1, .first_step = 0, .local_steps = 2}, nullptr).ok());

  auto memory = ExplainResidentMemory();
  ASSERT_TRUE(memory.has_value());
  const size_t model = (*trainer)->layout().total_params() * sizeof(float);
  ExpectWithinTwoPercent(memory->owners["parameters"], model);
  ExpectWithinTwoPercent(memory->owners["gradients"], model);
  ExpectWithinTwoPercent(memory->owners["optimizer state"], 3 * model);  // AdamW and its scratch
  EXPECT_GT(memory->owners["data"], 0);
  EXPECT_GT(memory->owners[kProgramMemory], 10 * kMiB);
  int64_t sum = 0;
  for (const auto& [owner, bytes] : memory->owners) {
    EXPECT_GE(bytes, 0) << owner;
    if (owner != kUnnamedMemory) sum += bytes;
  }
  const int64_t bar = std::max(4 * kMiB, memory->resident_bytes * 3 / 100);
  EXPECT_LE(std::abs(memory->resident_bytes - sum), bar) << FormatHeldMemory(*memory);
  RecordProperty("memory", FormatHeldMemory(*memory));

  trainer->reset();
  const auto after = ExplainResidentMemory();
  EXPECT_FALSE(after->owners.contains("parameters"));
  EXPECT_FALSE(after->owners.contains("optimizer state"));
}

}  // namespace
}  // namespace interlude
