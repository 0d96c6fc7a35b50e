// Inputs for the codec's tests: values of many shapes, the same for every run and machine.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/rng.h"

namespace interlude {

/// A named way to make values.
struct ValueShape {
  std::string name;
  std::vector<float> (*make)(size_t count, Rng& rng);
};

std::vector<float> GaussianValues(size_t count, Rng& rng);
std::vector<float> LaplaceValues(size_t count, Rng& rng);
std::vector<float> Student3Values(size_t count, Rng& rng);

/// Random ones, and all the awkward ones: zeros of both signs, subnormals, ties, near FLT_MAX...
/// Those whose name begins with "non-finite" contain NaN or Inf here and there.
const std::vector<ValueShape>& ValueShapes();

std::vector<float> Scaled(std::vector<float> values, float factor);

/// Whether all bits are equal: -0 is not 0, and a NaN is itself.
bool SameBits(std::span<const float> a, std::span<const float> b);

/// sqrt(sum (a - b)^2 / sum a^2), in double.
double RelativeL2(std::span<const float> a, std::span<const float> b);

/// The whole file; fails the test when it can't be read. `path` is relative to the source tree.
std::vector<std::byte> ReadSourceFile(const std::string& path);
std::vector<float> ReadSourceFloats(const std::string& path);

}  // namespace interlude
