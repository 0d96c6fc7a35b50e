// The kernels of q4 and q8: the scalar ones, which are the specification, and the SIMD ones, which
// give the same bits.
#pragma once

#include "codec/codec_kernels.h"

namespace interlude {

/// The specification in executable form.
const CodecKernels& ScalarQ4Kernels();
const CodecKernels& ScalarQ8Kernels();

/// The best instruction set that this machine has, chosen on first use.
const CodecKernels& SimdQ4Kernels();
const CodecKernels& SimdQ8Kernels();

/// The instruction set that the SIMD kernels use, as Highway names it, such as "AVX3" (AVX-512).
const char* SimdTargetName();

}  // namespace interlude
