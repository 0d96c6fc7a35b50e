#include "codec/codec_test_data.h"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <numbers>

namespace interlude {
namespace {

double OpenUniform(Rng& rng) { return (static_cast<double>(rng() >> 11) + 0.5) * 0x1p-53; }

double Gaussian(Rng& rng) {
  const double radius = std::sqrt(-2.0 * std::log(OpenUniform(rng)));
  return radius * std::cos(2.0 * std::numbers::pi * OpenUniform(rng));
}

template <typename Draw>
std::vector<float> Make(size_t count, const Draw& draw) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(draw(i));
  return values;
}

std::vector<float> WithSpecials(size_t count, Rng& rng, std::span<const float> specials) {
  std::vector<float> values = GaussianValues(count, rng);
  values[rng.Below(count)] = specials[rng.Below(specials.size())];
  if (rng.Below(2) == 0) values[rng.Below(count)] = specials[rng.Below(specials.size())];
  return values;
}

const float kInf = std::numeric_limits<float>::infinity();
const float kSpecials[] = {kInf, -kInf, std::numeric_limits<float>::quiet_NaN(),
                           -std::numeric_limits<float>::quiet_NaN(),
                           std::numeric_limits<float>::signaling_NaN()};

float AnyBits(Rng& rng) {
  const uint32_t bits = static_cast<uint32_t>(rng());
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return std::isfinite(value) ? value : 1.0f;
}

}  // namespace

std::vector<float> GaussianValues(size_t count, Rng& rng) {
  return Make(count, [&](size_t) { return Gaussian(rng); });
}

std::vector<float> LaplaceValues(size_t count, Rng& rng) {
  return Make(count,
              [&](size_t) { return std::log(OpenUniform(rng)) * (rng.Below(2) == 0 ? 1 : -1); });
}

std::vector<float> Student3Values(size_t count, Rng& rng) {
  return Make(count, [&](size_t) {
    double chi_squared = 0;
    for (int k = 0; k < 3; ++k) chi_squared += std::pow(Gaussian(rng), 2);
    return Gaussian(rng) / std::sqrt(chi_squared / 3);
  });
}

const std::vector<ValueShape>& ValueShapes() {
  using Values = std::vector<float>;
  static const std::vector<ValueShape> shapes = {
      {"Gaussian", GaussianValues},
      {"Laplace", LaplaceValues},
      {"Student-t3", Student3Values},
      {"tiny Gaussian", [](size_t n, Rng& r) { return Scaled(GaussianValues(n, r), 1e-8f); }},
      {"around the smallest scale",
       [](size_t n, Rng& r) { return Scaled(GaussianValues(n, r), 0x1p-101f); }},
      {"subnormal", [](size_t n, Rng& r) { return Scaled(GaussianValues(n, r), 0x1p-135f); }},
      {"near the largest float",
       [](size_t n, Rng& r) {
         return Make(n, [&](size_t) { return FLT_MAX * (2 * r.Uniform() - 1); });
       }},
      {"all the largest float", [](size_t n, Rng&) { return Values(n, FLT_MAX); }},
      {"all zero", [](size_t n, Rng&) { return Values(n, 0.0f); }},
      {"zeros of both signs",
       [](size_t n, Rng& r) {
         return Make(n, [&](size_t) { return r.Below(2) == 0 ? 0.0f : -0.0f; });
       }},
      {"all equal", [](size_t n, Rng&) { return Values(n, -0.3f); }},
      {"ties of the largest",
       [](size_t n, Rng&) { return Make(n, [](size_t i) { return i % 2 == 0 ? -1.5 : 1.5; }); }},
      {"all negative",
       [](size_t n, Rng& r) { return Make(n, [&](size_t) { return -r.Uniform() - 0.1f; }); }},
      {"any finite bits",
       [](size_t n, Rng& r) { return Make(n, [&](size_t) { return AnyBits(r); }); }},
      {"one spike",
       [](size_t n, Rng& r) {
         Values values = Scaled(GaussianValues(n, r), 1e-6f);
         values[r.Below(n)] = -1000.0f;
         return values;
       }},
      {"non-finite", [](size_t n, Rng& r) { return WithSpecials(n, r, kSpecials); }},
  };
  return shapes;
}

std::vector<float> Scaled(std::vector<float> values, float factor) {
  for (float& value : values) value *= factor;
  return values;
}

bool SameBits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

double RelativeL2(std::span<const float> a, std::span<const float> b) {
  double lost = 0;
  double total = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    lost += std::pow(static_cast<double>(a[i]) - b[i], 2);
    total += std::pow(static_cast<double>(a[i]), 2);
  }
  return std::sqrt(lost / total);
}

std::vector<std::byte> ReadSourceFile(const std::string& path) {
  std::ifstream file(std::string(INTERLUDE_SOURCE_DIR "/") + path, std::ios::binary);
  EXPECT_TRUE(file) << path << " can't be read";
  std::vector<std::byte> bytes;
  for (auto at = std::istreambuf_iterator<char>(file); at != std::istreambuf_iterator<char>();
       ++at) {
    bytes.push_back(static_cast<std::byte>(*at));
  }
  return bytes;
}

std::vector<float> ReadSourceFloats(const std::string& path) {
  const std::vector<std::byte> bytes = ReadSourceFile(path);
  std::vector<float> values(bytes.size() / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

}  // namespace interlude
