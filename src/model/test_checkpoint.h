// Made-up model files in the namings and types that others use, for tests: of any size, one tensor
// in memory at a time. Writes names by its own rules, so that it proves those of weight_names.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "config/run_config.h"
#include "model/weight_names.h"

namespace interlude {

struct CheckpointTensor {
  std::string name;
  std::vector<int64_t> shape;
  std::function<void(std::span<float>)> fill;
};

/// The values that tensor `index` of ModelParameters has in the files: small ones that follow from
/// `seed` and `index`.
void FillCheckpointValues(size_t index, uint64_t seed, std::span<float> values);

/// The tensors of such a file, in that naming.
std::vector<CheckpointTensor> CheckpointTensors(WeightNaming naming, const ModelConfig& config,
                                                uint64_t seed);

/// Writes them as a safetensors file. `dtype` is F32, BF16 or F16, both
/// cut off.
void WriteCheckpoint(const std::string& path, const std::vector<CheckpointTensor>& tensors,
                     const std::string& dtype = "F32");

}  // namespace interlude
