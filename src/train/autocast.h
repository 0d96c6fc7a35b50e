// Automatic casting of matrix products and convolutions to a shorter type, for a scope. The one
// place that knows how LibTorch's versions differ in it.
#pragma once

#include <ATen/autocast_mode.h>
#include <torch/version.h>

#include "config/run_config.h"

namespace interlude {

/// As PyTorch's torch.autocast for `device`, where `kind` is kBf16; nothing with kNone. Holds for
/// the thread that made it. Backward passes belong outside of it.
class AutocastScope {
 public:
  AutocastScope(AutocastKind kind, at::DeviceType device)
      : on_(kind != AutocastKind::kNone), device_(device) {
    if (!on_) return;
    at::autocast::increment_nesting();
    SetType(at::kBFloat16);
    Enable(true);
  }
  ~AutocastScope() {
    if (!on_) return;
    Enable(false);
    // Casts of the parameters are kept for the scope; after it the parameters change.
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  }
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)
  void Enable(bool on) { at::autocast::set_autocast_enabled(device_, on); }
  void SetType(at::ScalarType type) { at::autocast::set_autocast_dtype(device_, type); }
#else
  void Enable(bool on) {
    device_ == at::kCPU ? at::autocast::set_cpu_enabled(on) : at::autocast::set_enabled(on);
  }
  void SetType(at::ScalarType type) {
    device_ == at::kCPU ? at::autocast::set_autocast_cpu_dtype(type)
                        : at::autocast::set_autocast_gpu_dtype(type);
  }
#endif

  const bool on_;
  const at::DeviceType device_;
};

}  // namespace interlude
