#include "train/torch_setup.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <c10/util/Exception.h>

#include <algorithm>

#include "base/log.h"
#include "train/blas.h"

namespace interlude {

void SetUpTorch(int threads, bool strict) {
  const int count = std::max(1, threads);
  at::set_num_threads(count);
  // Operators run one after the other here, so between operators no second thread is needed.
  // LibTorch takes this number only once a process.
  if (at::get_num_interop_threads() != 1) {
    try {
      at::set_num_interop_threads(1);
    } catch (const c10::Error& error) {
      LogWarning("LibTorch keeps {} threads between operators: {}", at::get_num_interop_threads(),
                 error.what_without_backtrace());
    }
  }
  SetBlasThreads(count);
  at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/!strict);
}

}  // namespace interlude
