#include "train/device.h"

#include <ATen/Context.h>

#include <optional>

#include "base/parse_number.h"

namespace interlude {
namespace {

// N of "cuda:N"; 0 for "cuda".
std::optional<unsigned> CudaIndex(std::string_view name) {
  if (name == "cuda") return 0;
  constexpr std::string_view kPrefix = "cuda:";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  return ParseNumber<unsigned>(name.substr(kPrefix.size()));
}

}  // namespace

StatusOr<TrainDevice> FindTrainDevice(const std::string& name) {
  if (name == "cpu") return TrainDevice{};
  if (name == "cpu_tensors") return TrainDevice{.in_host_memory = false};
  const std::optional<unsigned> index = CudaIndex(name);
  if (!index) {
    return InvalidArgumentError(
        "train.device = \"{}\" is not known; known: \"cpu\", \"cuda\", \"cuda:N\", \"cpu_tensors\"",
        name);
  }
  const size_t devices = at::hasCUDA() ? at::getNumGPUs() : 0;
  if (devices == 0) {
    return FailedPreconditionError(
        "train.device = \"{}\", but LibTorch sees no CUDA device; either it was built without CUDA "
        "(Debian's is), or nvidia-smi lists no GPU here, or CUDA_VISIBLE_DEVICES hides it; train "
        "with train.device = \"cpu\", or build interlude-worker with a LibTorch for CUDA",
        name);
  }
  if (*index >= devices) {
    return FailedPreconditionError(
        "train.device = \"{}\", but LibTorch sees {} CUDA devices, numbered from 0; choose one of "
        "them, or see what CUDA_VISIBLE_DEVICES hides",
        name, devices);
  }
  return TrainDevice{.device = at::Device(at::kCUDA, static_cast<at::DeviceIndex>(*index)),
                     .in_host_memory = false};
}

}  // namespace interlude
