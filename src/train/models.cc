#include "train/models.h"

#include "base/check.h"

namespace interlude {

std::unique_ptr<Model> CreateModel(const ModelConfig& config, FlatParameters& parameters) {
  switch (config.kind) {
    case ModelKind::kVit:
      return CreateVit(config, parameters);
    case ModelKind::kConvNet:
      return CreateConvNet(parameters);
    case ModelKind::kSynthetic:
      break;
  }
  INTERLUDE_CHECK(false, "a synthetic model computes nothing");
}

}  // namespace interlude
