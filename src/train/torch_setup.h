// Process-wide settings of LibTorch: threads and determinism.
#pragma once

#include <c10/core/Device.h>

namespace interlude {

/// Lets LibTorch and OpenBLAS compute with `threads` threads (at least 1) and chooses deterministic
/// algorithms, which on a device other than the CPU is a wish: where there is no such algorithm
/// LibTorch warns and takes another. For the whole process; call before computing and from one
/// thread.
void SetUpTorch(int threads, at::Device device = at::kCPU);

}  // namespace interlude
