#include "train/test_images.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/rng.h"

namespace interlude {
namespace {

constexpr uint32_t kSide = kTinyImageSide;
constexpr uint32_t kTrainImages = 240;

void WriteIdx(const std::string& path, const std::vector<uint32_t>& dimensions,
              const std::string& bytes) {
  std::ofstream out(path, std::ios::binary);
  out << '\0' << '\0' << '\x08' << static_cast<char>(dimensions.size());
  for (const uint32_t dimension : dimensions) {
    for (const int shift : {24, 16, 8, 0}) out << static_cast<char>(dimension >> shift & 0xff);
  }
  out << bytes;
}

// Images of noise in which row (or column, from class 5 on) `label` shines: learnable in a few
// steps.
void WriteSet(const std::string& prefix, uint32_t count, uint64_t seed) {
  Rng rng(seed);
  std::string pixels, labels;
  for (uint32_t i = 0; i < count; ++i) {
    const auto label = static_cast<uint32_t>(rng.Below(10));
    labels += static_cast<char>(label);
    for (uint32_t p = 0; p < kSide * kSide; ++p) {
      const bool bright = label < 5 ? p / kSide == label : p % kSide == label - 5;
      pixels += static_cast<char>(bright ? 250 : rng.Below(60));
    }
  }
  WriteIdx(prefix + "-images-idx3-ubyte", {count, kSide, kSide}, pixels);
  WriteIdx(prefix + "-labels-idx1-ubyte", {count}, labels);
}

}  // namespace

RunConfig TinyImageRun(ModelKind kind) {
  RunConfig config;
  config.data.directory = testing::TempDir() + "/torch_trainer_data";
  std::filesystem::create_directories(config.data.directory);
  WriteSet(config.data.directory + "/train", kTrainImages, 1);
  WriteSet(config.data.directory + "/t10k", kTinyTestImages, 2);
  config.model.kind = kind;
  config.model.image_size = kSide;
  config.model.patch_size = 4;
  config.model.hidden_size = 16;
  config.model.layers = 2;
  config.model.heads = 2;
  config.model.mlp_size = 24;
  config.train.batch = 20;
  config.train.learning_rate = 5e-3;
  config.train.warmup_steps = 3;
  config.round.rounds = 6;
  config.round.local_steps = 5;
  config.round.chunk_params = 64;
  return config;
}

}  // namespace interlude
