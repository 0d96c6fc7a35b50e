// Process-wide settings of LibTorch: threads and determinism.
#pragma once

namespace interlude {

/// Lets LibTorch and OpenBLAS compute with `threads` threads (at least 1) and chooses deterministic
/// algorithms. Where there is no such algorithm LibTorch throws with `strict`, else warns and takes
/// another. For the whole process; call before computing and from one thread.
void SetUpTorch(int threads, bool strict = true);

}  // namespace interlude
