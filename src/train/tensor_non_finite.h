// FindNonFinite for a tensor on any device: only the answer crosses to the host.
#pragma once

#include <ATen/ATen.h>

#include <cstddef>
#include <optional>

namespace interlude {

/// The first position whose value is NaN or infinite; nothing when all are finite. `values` is fp32
/// with one dimension. Waits for the device. Any thread. Memory: 9 bytes a value of a piece of 4
/// million.
std::optional<size_t> FindNonFinite(const at::Tensor& values);

}  // namespace interlude
