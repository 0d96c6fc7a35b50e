#include "train/tensor_xxh3.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/rng.h"
#include "train/test_devices.h"

namespace interlude {
namespace {

std::vector<float> AnyBits(size_t count, Rng& rng) {
  std::vector<float> values(count);
  for (float& value : values) {
    const auto bits = static_cast<uint32_t>(rng());
    std::memcpy(&value, &bits, sizeof(value));
  }
  return values;
}

TEST(TensorXxh3Test, HashesOfEveryLengthAreThoseOfTheHost) {
  Rng rng(1);
  for (const at::Device device : TestDevices()) {
    const TensorXxh3 xxh3(device);
    // Below and at the short inputs' bound, around stripes (16 values) and blocks (256 values).
    for (size_t count = 1; count <= 1100; ++count) {
      const std::vector<float> values = AnyBits(count, rng);
      const at::Tensor tensor = TensorOf(values, device);
      EXPECT_EQ(xxh3.Hash({&tensor, 1}).at(0), HashFloats(values)) << count << " values";
    }
  }
}

TEST(TensorXxh3Test, TensorsOfDifferentLengthsInOneCallKeepTheirOrder) {
  Rng rng(2);
  for (const at::Device device : TestDevices()) {
    std::vector<at::Tensor> tensors;
    std::vector<Hash128> expected;
    for (const size_t count : {256, 64, 20, 8192, 257, 65536, 8192, 1, 513, 65536}) {
      const std::vector<float> values = AnyBits(count, rng);
      tensors.push_back(TensorOf(values, device));
      expected.push_back(HashFloats(values));
    }
    EXPECT_EQ(TensorXxh3(device).Hash(tensors), expected);
  }
}

TEST(TensorXxh3Test, PartsOfATensorAreHashedInPlace) {
  Rng rng(3);
  const std::vector<float> values = AnyBits(5000, rng);
  for (const at::Device device : TestDevices()) {
    const at::Tensor whole = TensorOf(values, device);
    const std::vector<at::Tensor> parts = {whole.narrow(0, 0, 2048), whole.narrow(0, 2048, 2048),
                                           whole.narrow(0, 4096, 904)};
    const std::vector<Hash128> expected = {HashFloats(std::span(values).subspan(0, 2048)),
                                           HashFloats(std::span(values).subspan(2048, 2048)),
                                           HashFloats(std::span(values).subspan(4096))};
    EXPECT_EQ(TensorXxh3(device).Hash(parts), expected);
  }
}

TEST(TensorXxh3Test, NoTensorsHaveNoHashes) { EXPECT_TRUE(TensorXxh3(at::kCPU).Hash({}).empty()); }

}  // namespace
}  // namespace interlude
