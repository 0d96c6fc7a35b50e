// The q4 kernels for every instruction set, written once with Highway and compiled once per target.
// Equal to q4_scalar.cc bit for bit: the same operations in the same order on each value, nothing
// fused. One pass over memory.
#include "codec/q4_kernels.h"

// Vectors without a size at compile time can't be members; those machines have NEON as well.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/q4_simd.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "codec/q4_simd_decode-inl.h"
#include "codec/q4_simd_encode-inl.h"
#include "codec/q4_simd_merge-inl.h"
#include "codec/q4_simd_norm-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace interlude {
namespace HWY_NAMESPACE {

const CodecKernels& Kernels() {
#if HWY_TARGET == HWY_SCALAR  // a machine without SIMD: the specification itself
  return ScalarQ4Kernels();
#else
  static constexpr CodecKernels kKernels = {EncodeDelta, EncodeUpdate, DecodeSum,
                                            Merge,       SquaredNorm,  Apply};
  return kKernels;
#endif
}

const char* CompiledTarget() { return hwy::TargetName(HWY_TARGET); }

}  // namespace HWY_NAMESPACE
}  // namespace interlude
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace interlude {

HWY_EXPORT(Kernels);
HWY_EXPORT(CompiledTarget);

const char* SimdQ4TargetName() { return HWY_DYNAMIC_DISPATCH(CompiledTarget)(); }

const CodecKernels& SimdQ4Kernels() { return HWY_DYNAMIC_DISPATCH(Kernels)(); }

}  // namespace interlude
#endif  // HWY_ONCE
