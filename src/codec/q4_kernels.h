// The q4 kernels: the scalar ones, which are the specification, and the SIMD ones, which give the
// same bits.
#pragma once

#include "codec/codec_kernels.h"

namespace interlude {

/// The specification in executable form.
const CodecKernels& ScalarQ4Kernels();

/// The best instruction set that this machine has, chosen on first use.
const CodecKernels& SimdQ4Kernels();

/// The instruction set that SimdQ4Kernels uses, as Highway names it, such as "AVX3" (AVX-512).
const char* SimdQ4TargetName();

}  // namespace interlude
