// Names for the memory of tensors, for the account of resident memory.
#pragma once

#include <ATen/ATen.h>

#include <string>
#include <utility>

#include "base/memory_account.h"

namespace interlude {

/// Names the memory of a tensor whose storage LibTorch owns, which must outlive what is returned.
/// Nothing for one on a device, or that is not defined.
inline NamedMemory NameTensor(std::string owner, const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.device().is_cpu()) return {};
  return {std::move(owner), tensor.data_ptr(), tensor.nbytes(), MemoryPlace::kHeap};
}

}  // namespace interlude
