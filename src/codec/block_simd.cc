// The kernels of q4 and q8 for every instruction set, written once with Highway and compiled once
// per target. Equal to the scalar ones (block_scalar.h) bit for bit: the same operations in the
// same order on each value, nothing fused. One pass over memory.
#include "codec/block_kernels.h"

// Vectors without a size at compile time can't be members; those machines have NEON as well.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/block_simd.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "codec/block_simd_decode-inl.h"
#include "codec/block_simd_encode-inl.h"
#include "codec/block_simd_merge-inl.h"
#include "codec/q4_simd_codes-inl.h"
#include "codec/q8_simd_codes-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace interlude {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR  // a machine without SIMD: the specification itself
const CodecKernels& Q4Kernels() { return ScalarQ4Kernels(); }
const CodecKernels& Q8Kernels() { return ScalarQ8Kernels(); }
#else
template <typename Codes>
constexpr CodecKernels kKernels = {EncodeDelta<Codes>, EncodeUpdate<Codes>, DecodeSum<Codes>,
                                   Merge<Codes>,       SquaredNorm<Codes>,  Apply<Codes>};
const CodecKernels& Q4Kernels() { return kKernels<Q4Codes>; }
const CodecKernels& Q8Kernels() { return kKernels<Q8Codes>; }
#endif

const char* CompiledTarget() { return hwy::TargetName(HWY_TARGET); }

}  // namespace HWY_NAMESPACE
}  // namespace interlude
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace interlude {

HWY_EXPORT(Q4Kernels);
HWY_EXPORT(Q8Kernels);
HWY_EXPORT(CompiledTarget);

const char* SimdTargetName() { return HWY_DYNAMIC_DISPATCH(CompiledTarget)(); }

const CodecKernels& SimdQ4Kernels() { return HWY_DYNAMIC_DISPATCH(Q4Kernels)(); }
const CodecKernels& SimdQ8Kernels() { return HWY_DYNAMIC_DISPATCH(Q8Kernels)(); }

}  // namespace interlude
#endif  // HWY_ONCE
