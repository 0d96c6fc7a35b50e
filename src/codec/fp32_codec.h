// The fp32 codec: values as they are, little-endian, next to q4 for comparison. Its payload is in
// what the kernels call codes; it has no scales.
#pragma once

#include "codec/codec_kernels.h"

namespace interlude {

/// A delta's residual becomes 0: nothing is lost. Encoding stops at the first non-finite value.
const CodecKernels& Fp32Kernels();

}  // namespace interlude
