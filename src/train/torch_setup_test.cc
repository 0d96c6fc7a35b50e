#include "train/torch_setup.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

namespace interlude {
namespace {

TEST(TorchSetupTest, LibTorchAndOpenBlasTakeTheStatedThreads) {
  const auto blas_threads =
      reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "openblas_get_num_threads"));
  for (const int threads : {2, 1}) {
    SetUpTorch(threads);
    EXPECT_EQ(at::get_num_threads(), threads);
    EXPECT_EQ(at::get_num_interop_threads(), 1);
    if (blas_threads != nullptr) {
      EXPECT_EQ(blas_threads(), threads);
    }
  }
  SetUpTorch(0);
  EXPECT_EQ(at::get_num_threads(), 1);
}

TEST(TorchSetupTest, AlgorithmsAreDeterministic) {
  SetUpTorch(1);
  EXPECT_TRUE(at::globalContext().deterministicAlgorithms());
}

}  // namespace
}  // namespace interlude
