// The SIMD kernels against the scalar ones, bit for bit, on every instruction set this machine has.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <tuple>

#include "codec/block_format.h"
#include "codec/block_kernels.h"
#include "codec/chunk_payload.h"
#include "codec/codec_test_data.h"
#include "codec/float_environment.h"
#include "codec/q4_book.h"
#include "codec/q8_codes.h"
#include "hwy/highway.h"

namespace interlude {
namespace {

/// Guard values on both sides show writes outside the range. In front 3 values leave starts
/// unaligned, 16 aligned for every vector, so that values are streamed.
constexpr size_t kMaxGuard = 16;

/// Memory as Buffer hands it out.
template <typename T>
struct AlignedAllocator {
  using value_type = T;
  T* allocate(size_t count) {
    return static_cast<T*>(::operator new(count * sizeof(T), std::align_val_t(64)));
  }
  void deallocate(T* memory, size_t) { ::operator delete(memory, std::align_val_t(64)); }
  bool operator==(const AlignedAllocator&) const = default;
};

using AlignedFloats = std::vector<float, AlignedAllocator<float>>;

/// Ratios of a value to its block's scale that lie between two codes.
std::vector<float> Thresholds(Codec codec) {
  if (codec == Codec::kQ4) return {kQ4Thresholds.begin(), kQ4Thresholds.end()};
  std::vector<float> middles;
  for (float steps = kQ8LowestSteps; steps < kQ8Steps; ++steps) {
    middles.push_back((steps + 0.5f) / kQ8Steps);
  }
  return middles;
}

struct Inputs {
  std::vector<float> params;
  std::vector<float> base;
  std::vector<float> residual;  // empty: no error feedback
  size_t count = 0;
  size_t guard = 3;
};

/// All that the kernels return and write, guards included.
struct Outputs {
  size_t bad_delta = 0;
  size_t bad_update = 0;
  std::vector<size_t> bad_merges;
  std::vector<double> norms;
  std::vector<std::vector<std::byte>> merge_bytes;
  std::vector<AlignedFloats> floats;
  std::vector<std::byte> codes;
  std::vector<std::byte> scales;
};

AlignedFloats Guarded(const std::vector<float>& values, size_t guard) {
  AlignedFloats guarded(values.size() + guard + kMaxGuard, 77.0f);
  std::copy(values.begin(), values.end(), guarded.begin() + static_cast<ptrdiff_t>(guard));
  return guarded;
}

Outputs RunAll(const CodecKernels& kernels, size_t code_bytes, const Inputs& in) {
  const size_t n = in.count;
  const size_t guard = in.guard;
  const auto params = Guarded(in.params, guard);
  const auto base = Guarded(in.base, guard);
  auto delta_residual = Guarded(in.residual, guard);
  auto update_residual = delta_residual;
  auto update_base = base;
  auto apply_base = base;
  auto apply_params = params;
  const auto at = [&](auto& values) { return values.data() + guard; };
  const auto at_or_null = [&](auto& values) { return in.residual.empty() ? nullptr : at(values); };

  Outputs out;
  const size_t blocks = BlockCount(n);
  out.codes.resize(2 * (blocks * code_bytes + 2 * guard));
  out.scales.resize(2 * (blocks * kBlockScaleBytes + 2 * guard));
  std::byte* delta_codes = out.codes.data() + guard;
  std::byte* delta_scales = out.scales.data() + guard;
  std::byte* update_codes = out.codes.data() + out.codes.size() / 2 + guard;
  std::byte* update_scales = out.scales.data() + out.scales.size() / 2 + guard;

  out.bad_delta = kernels.encode_delta(at(params), at(base), at_or_null(delta_residual), n,
                                       delta_codes, delta_scales);
  out.bad_update = kernels.encode_update(at(params), at_or_null(update_residual), at(update_base),
                                         n, update_codes, update_scales);
  kernels.apply(delta_codes, delta_scales, at(apply_base), at(apply_params), n);
  out.floats = {delta_residual, update_residual, update_base, apply_base, apply_params};
  const WeightedPayload payloads[] = {{delta_codes, delta_scales, 1.0f / 3.0f},
                                      {update_codes, update_scales, -0.3f},
                                      {delta_codes, delta_scales, 0.0f}};
  for (const size_t size : {0, 1, 3}) {
    for (const SumStart start : {SumStart::kSum, SumStart::kZero, SumStart::kZeroStreamed}) {
      out.floats.push_back(base);
      kernels.decode_sum(std::span(payloads).first(size), start, at(out.floats.back()), n);
    }
  }
  out.norms = {kernels.squared_norm(delta_codes, delta_scales, n),
               kernels.squared_norm(update_codes, update_scales, n)};
  for (const bool with_velocity : {false, true}) {
    auto velocity = Guarded(in.params, guard);
    auto residual = Guarded(in.residual, guard);
    auto merged = base;
    std::vector<std::byte> codes(blocks * code_bytes + 1);
    std::vector<std::byte> scales(blocks * kBlockScaleBytes + 1);
    const MomentumStep step = {0.7f, 0.9f, with_velocity ? at(velocity) : nullptr};
    for (const size_t size : {1, 3}) {
      out.bad_merges.push_back(kernels.merge(std::span(payloads).first(size), step,
                                             at_or_null(residual), at(merged), n, codes.data() + 1,
                                             scales.data() + 1));
      if (out.bad_merges.back() != kAllFinite) break;  // what it leaves is unspecified
      out.merge_bytes.push_back(codes);
      out.merge_bytes.push_back(scales);
      out.floats.insert(out.floats.end(), {velocity, residual, merged});
    }
  }
  return out;
}

void ExpectSame(const Outputs& expected, const Outputs& got) {
  ASSERT_EQ(expected.bad_delta, got.bad_delta);
  ASSERT_EQ(expected.bad_update, got.bad_update);
  ASSERT_EQ(expected.bad_merges, got.bad_merges);
  ASSERT_TRUE(expected.codes == got.codes);
  ASSERT_TRUE(expected.merge_bytes == got.merge_bytes);
  ASSERT_TRUE(expected.scales == got.scales);
  ASSERT_EQ(expected.norms, got.norms);
  for (size_t i = 0; i < expected.floats.size(); ++i) {
    ASSERT_TRUE(SameBits(expected.floats[i], got.floats[i])) << "output array " << i;
  }
}

class EveryTarget : public testing::TestWithParam<std::tuple<int64_t, Codec>> {
 protected:
  int64_t target() const { return std::get<0>(GetParam()); }
  Codec codec() const { return std::get<1>(GetParam()); }
  const CodecKernels& scalar() const { return SpecifiedKernels(codec()); }
  const CodecKernels& simd() const { return KernelsOf(codec()); }

  void SetUp() override {
    hwy::SetSupportedTargetsForTest(target());
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    ASSERT_STREQ(hwy::TargetName(target()), SimdTargetName());
  }
  void TearDown() override {
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }

  void CompareOn(const ValueShape& shape, size_t count, bool with_residual, uint64_t seed) {
    Rng rng(seed);
    Inputs in;
    in.count = count;
    in.params = shape.make(count, rng);
    in.base = rng.Below(2) == 0 ? std::vector<float>(count, 0.0f) : GaussianValues(count, rng);
    in.guard = rng.Below(2) == 0 ? 3 : kMaxGuard;
    if (with_residual) in.residual = Scaled(GaussianValues(count, rng), 0.1f);
    SCOPED_TRACE(testing::Message()
                 << shape.name << ", " << count << " values, residual " << with_residual);
    Compare(in);
  }

  void Compare(const Inputs& in) const {
    ExpectSame(RunAll(scalar(), BlockCodeBytes(codec()), in),
               RunAll(simd(), BlockCodeBytes(codec()), in));
  }

  const DefaultFloatEnvironment environment_;
};

TEST_P(EveryTarget, EqualsTheScalarKernelsOnEveryShapeAndTail) {
  uint64_t seed = 1;
  for (const ValueShape& shape : ValueShapes()) {
    for (size_t count = 1; count <= 130; ++count) {
      CompareOn(shape, count, false, seed++);
      CompareOn(shape, count, true, seed++);
      if (HasFatalFailure()) return;
    }
    // Blocks are encoded in groups; these are one value about a group and several groups.
    for (size_t count : {1023, 1024, 1025, 2047, 2500}) {
      CompareOn(shape, count, false, seed++);
      CompareOn(shape, count, true, seed++);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(EveryTarget, EqualsTheScalarKernelsAtEveryThreshold) {
  // Ratios a few steps around each threshold, for scales of both signs, with and without rounding
  // of the scale.
  for (float maximum : {1.0f, -1.0f, 1.7f, -3.01e-9f}) {
    Inputs in;
    for (float threshold : Thresholds(codec())) {
      float value = threshold * maximum;
      for (int i = 0; i < 5; ++i) value = std::nextafter(value, -10.0f);
      std::vector<float> block(64, maximum);
      for (size_t j = 1; j < 12; ++j) block[j] = value = std::nextafter(value, 10.0f);
      in.params.insert(in.params.end(), block.begin(), block.end());
    }
    in.count = in.params.size();
    in.base.assign(in.count, 0.0f);
    SCOPED_TRACE(maximum);
    Compare(in);
  }
}

TEST_P(EveryTarget, DecodesEveryCodeAtEveryPlace) {
  std::vector<std::byte> codes(16 * BlockCodeBytes(codec()) + 1);
  std::vector<std::byte> scales(16 * kBlockScaleBytes + 1);
  Rng rng(5);
  for (std::byte& byte : codes) byte = static_cast<std::byte>(rng());
  for (size_t block = 0; block < 16; ++block)
    StoreBlockScale(BlockScaleOf(0xBF123456u + (block << 22)), &scales[1], block);
  std::vector<float> expected(16 * kBlockValues, -1.25f);
  std::vector<float> got = expected;
  std::vector<float> expected_params = expected;
  std::vector<float> got_params = expected;
  scalar().apply(&codes[1], &scales[1], expected.data(), expected_params.data(), expected.size());
  simd().apply(&codes[1], &scales[1], got.data(), got_params.data(), got.size());
  EXPECT_TRUE(SameBits(expected, got));
  EXPECT_TRUE(SameBits(expected_params, got_params));
  EXPECT_TRUE(SameBits(got, got_params));
  for (const size_t count : {1, 63, 64, 65, 1000, 1024}) {
    EXPECT_EQ(scalar().squared_norm(&codes[1], &scales[1], count),
              simd().squared_norm(&codes[1], &scales[1], count));
  }
}

INSTANTIATE_TEST_SUITE_P(Highway, EveryTarget,
                         testing::Combine(testing::ValuesIn(hwy::SupportedAndGeneratedTargets()),
                                          testing::Values(Codec::kQ4, Codec::kQ8)),
                         [](const auto& made) {
                           return fmt::format("{}On{}", CodecName(std::get<1>(made.param)),
                                              hwy::TargetName(std::get<0>(made.param)));
                         });

}  // namespace
}  // namespace interlude
