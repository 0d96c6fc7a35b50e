#include "optim/outer_optimizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "base/rng.h"

namespace interlude {
namespace {

#include "optim/outer_optimizer_golden.inc"

constexpr OuterOptimizerType kAllTypes[] = {OuterOptimizerType::kSgd, OuterOptimizerType::kNesterov,
                                            OuterOptimizerType::kAdam};

OuterOptimizerOptions Options(OuterOptimizerType type) {
  OuterOptimizerOptions options{.type = type, .momentum = 0.9f};  // as the golden values
  if (type == OuterOptimizerType::kAdam) options.learning_rate = 0.01f;
  return options;
}

std::vector<float> RandomValues(uint64_t seed, size_t count) {
  Rng rng(seed);
  std::vector<float> values(count);
  for (float& value : values)
    value = (rng.Uniform() - 0.5f) * std::ldexp(1.0f, -static_cast<int>(rng.Below(30)));
  return values;
}

std::vector<uint32_t> Bits(std::span<const float> values) {
  std::vector<uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<uint32_t>(value));
  return bits;
}

/// `slack` is the least tolerance: torch fuses multiplications and additions, which shows where
/// terms cancel.
void ExpectGolden(OuterOptimizerType type, const float (&golden)[kGoldenSteps][kGoldenParams],
                  float slack = 0) {
  std::vector<float> state(kGoldenParams * OuterStatePerParam(type));
  std::vector<float> update(kGoldenParams);
  for (size_t step = 1; step <= kGoldenSteps; ++step) {
    OuterStep(Options(type), step, kGoldenDeltas[step - 1], std::span<float>(state), update);
    for (size_t i = 0; i < kGoldenParams; ++i) {
      const float expected = golden[step - 1][i];
      EXPECT_NEAR(update[i], expected, std::max(slack, 1e-6f * std::abs(expected)))
          << "step " << step << ", parameter " << i;
    }
  }
}

TEST(OuterOptimizer, SgdAgreesWithTorch) { ExpectGolden(OuterOptimizerType::kSgd, kSgdGolden); }
TEST(OuterOptimizer, NesterovAgreesWithTorch) {
  ExpectGolden(OuterOptimizerType::kNesterov, kNesterovGolden);
}
TEST(OuterOptimizer, AdamAgreesWithTorch) {
  // Adam's terms have the size of the learning rate, 0.01: one rounding of such a term.
  ExpectGolden(OuterOptimizerType::kAdam, kAdamGolden, 0x1p-24f * 0.01f);
}

TEST(OuterOptimizer, EveryOperationIsRoundedOnItsOwn) {
  // Plain scalar code with each intermediate forced through memory: what the header writes down.
  const auto options = Options(OuterOptimizerType::kNesterov);
  const auto adam = Options(OuterOptimizerType::kAdam);
  const std::vector<float> delta = RandomValues(1, 1000);
  std::vector<float> m = RandomValues(2, 1000);
  std::vector<float> moments = RandomValues(3, 2000);
  for (size_t i = 1000; i < 2000; ++i) moments[i] = std::abs(moments[i]);
  std::vector<float> expected, expected_adam;
  for (size_t i = 0; i < delta.size(); ++i) {
    volatile float a = options.momentum * m[i];
    volatile float next = a + delta[i];
    volatile float b = options.momentum * next;
    volatile float ahead = delta[i] + b;
    expected.push_back(options.learning_rate * ahead);

    volatile float m1 = adam.beta1 * moments[i];
    volatile float m2 = static_cast<float>(1.0 - static_cast<double>(adam.beta1)) * delta[i];
    volatile float first = m1 + m2;
    volatile float square = delta[i] * delta[i];
    volatile float v1 = adam.beta2 * moments[1000 + i];
    volatile float v2 = static_cast<float>(1.0 - static_cast<double>(adam.beta2)) * square;
    volatile float second = v1 + v2;
    volatile float root = std::sqrt(second);
    const double beta1 = static_cast<double>(adam.beta1), beta2 = static_cast<double>(adam.beta2);
    volatile float scaled = root / static_cast<float>(std::sqrt(1.0 - beta2 * (beta2 * beta2)));
    volatile float divisor = scaled + adam.epsilon;
    volatile float quotient = first / divisor;
    expected_adam.push_back(static_cast<float>(static_cast<double>(adam.learning_rate) /
                                               (1.0 - beta1 * (beta1 * beta1))) *
                            quotient);
  }
  std::vector<float> update(delta.size());
  OuterStep(options, 1, delta, std::span<float>(m), update);
  EXPECT_EQ(Bits(update), Bits(expected));
  OuterStep(adam, 3, delta, std::span<float>(moments), update);
  EXPECT_EQ(Bits(update), Bits(expected_adam));
}

TEST(OuterOptimizer, PiecesOfARangeGiveTheBitsOfTheWhole) {
  constexpr size_t kCount = 1009;
  for (const OuterOptimizerType type : kAllTypes) {
    std::vector<float> whole_state(kCount * OuterStatePerParam(type));
    std::vector<float> pieces_state = whole_state;
    std::vector<float> whole(kCount), pieces(kCount);
    for (uint64_t step = 1; step <= 3; ++step) {
      const std::vector<float> delta = RandomValues(step, kCount);
      OuterStep(Options(type), step, delta, std::span<float>(whole_state), whole);
      const OuterState state = ViewOuterState(type, pieces_state);
      // Back to front and of uneven sizes: neither order nor alignment may show.
      for (size_t end = kCount, size = 1; end > 0; size = size * 3 + 1) {
        const size_t count = std::min(size, end);
        const size_t begin = end - count;
        OuterStep(Options(type), step, std::span(delta).subspan(begin, count),
                  state.Slice(begin, count), std::span(pieces).subspan(begin, count));
        end = begin;
      }
      EXPECT_EQ(Bits(pieces), Bits(whole));
      EXPECT_EQ(Bits(pieces_state), Bits(whole_state));
    }
  }
}

TEST(OuterOptimizer, TheUpdateMayReplaceTheDelta) {
  constexpr size_t kCount = 131;
  for (const OuterOptimizerType type : kAllTypes) {
    std::vector<float> state(kCount * OuterStatePerParam(type), 0.25f);
    std::vector<float> state_in_place = state;
    std::vector<float> delta = RandomValues(5, kCount);
    std::vector<float> update(kCount);
    OuterStep(Options(type), 2, delta, std::span<float>(state), update);
    OuterStep(Options(type), 2, delta, std::span<float>(state_in_place), delta);
    EXPECT_EQ(Bits(delta), Bits(update));
    EXPECT_EQ(Bits(state_in_place), Bits(state));
  }
}

TEST(OuterOptimizer, NesterovWithoutMomentumIsSgd) {
  auto options = Options(OuterOptimizerType::kNesterov);
  options.momentum = 0.0f;
  const std::vector<float> delta = RandomValues(8, 50);
  std::vector<float> state(50), nesterov(50), sgd(50);
  OuterStep(options, 1, delta, std::span<float>(state), nesterov);
  OuterStep(Options(OuterOptimizerType::kSgd), 1, delta, std::span<float>(), sgd);
  EXPECT_EQ(Bits(nesterov), Bits(sgd));
}

TEST(OuterOptimizer, AdamsFirstStepIsTheLearningRateWithTheDeltasSign) {
  std::vector<float> state(4), update(2);
  OuterStep(Options(OuterOptimizerType::kAdam), 1, std::vector<float>{0.5f, -2.0f},
            std::span<float>(state), update);
  EXPECT_NEAR(update[0], 0.01f, 1e-8f);
  EXPECT_NEAR(update[1], -0.01f, 1e-8f);
}

TEST(OuterOptimizer, NonFiniteDeltasStayVisibleInTheirOwnUpdateOnly) {
  for (const OuterOptimizerType type : kAllTypes) {
    std::vector<float> delta(40, 0.5f);
    delta[17] = std::numeric_limits<float>::quiet_NaN();
    std::vector<float> state(40 * OuterStatePerParam(type)), update(40);
    OuterStep(Options(type), 1, delta, std::span<float>(state), update);
    for (size_t i = 0; i < update.size(); ++i) EXPECT_EQ(std::isnan(update[i]), i == 17);
  }
}

TEST(OuterOptimizerDeathTest, WrongSizesAndStepZeroAbort) {
  std::vector<float> three(3), four(4);
  const auto options = Options(OuterOptimizerType::kNesterov);
  EXPECT_DEATH(OuterStep(options, 1, three, std::span<float>(three), four), "3 deltas, 4 updates");
  EXPECT_DEATH(OuterStep(options, 1, three, std::span<float>(four), three), "4 and 0 values for 3");
  EXPECT_DEATH(OuterStep(options, 0, three, std::span<float>(three), three), "count from 1");
  EXPECT_DEATH(ViewOuterState(OuterOptimizerType::kAdam, three), "3 values");
}

}  // namespace
}  // namespace interlude
