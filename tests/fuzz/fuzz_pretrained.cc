// An index of shards, and the plan for a model from any names, shapes and types: the input's first
// byte chooses. What a plan says must fit the tensors it speaks of.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/check.h"
#include "model/weight_plan.h"
#include "store/safetensors_set.h"
#include "tests/fuzz/memory_file.h"

namespace interlude {
namespace {

ModelConfig TinyVit() {
  ModelConfig config;
  config.image_size = 4;
  config.patch_size = 2;
  config.hidden_size = 2;
  config.layers = 1;
  config.heads = 1;
  config.mlp_size = 3;
  config.classes = 2;
  config.allow_missing = true;
  return config;
}

void ReadIndex(std::span<const std::byte> bytes) {
  static MemoryFile memory;
  const auto index = ReadSafetensorsIndex(memory.Holding(bytes));
  if (!index.ok()) return;
  for (const auto& [name, file] : *index) {
    INTERLUDE_CHECK(!file.empty() && file != ".." && file.find('/') == std::string::npos,
                    "a shard elsewhere: {}", file);
  }
}

void PlanFrom(std::span<const std::byte> bytes) {
  static MemoryFile memory;
  const auto header = ReadSafetensorsHeader(memory.Holding(bytes));
  if (!header.ok()) return;
  const ModelConfig config = TinyVit();
  const auto parameters = ModelParameters(config).value();
  const auto plan = PlanWeights(config, parameters, header->entries);
  if (!plan.ok()) return;
  INTERLUDE_CHECK(plan->tensors.size() == parameters.size(), "a plan for others");
  const Layout layout = ModelLayout(RunConfig{.model = config}).value();
  for (size_t i = 0; i < parameters.size(); ++i) {
    const PlannedTensor& planned = plan->tensors[i];
    if (planned.kind != PlannedTensor::Kind::kMatched) continue;
    const SafetensorsEntry& entry = header->entries.at(planned.source);
    const uint64_t count = (entry.end - entry.begin) / (entry.dtype == "F32" ? 4 : 2);
    INTERLUDE_CHECK(planned.first + layout.parameters()[i].count <= count, "beyond {}", entry.name);
  }
  DescribePlan(*plan, parameters, header->entries);
}

}  // namespace
}  // namespace interlude

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data + 1), size - 1);
  data[0] == 'i' ? interlude::ReadIndex(bytes) : interlude::PlanFrom(bytes);
  return 0;
}
