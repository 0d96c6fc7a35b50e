// Round to nearest and keep subnormals, whatever the calling thread was set to. A library that
// switches flush-to-zero on (for speed) would otherwise change bits on one machine and not on
// another.
#pragma once

#include <cfenv>

namespace interlude {

/// Sets the default floating-point environment for a scope, on this thread.
class DefaultFloatEnvironment {
 public:
  DefaultFloatEnvironment() {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloatEnvironment() { std::fesetenv(&saved_); }
  DefaultFloatEnvironment(const DefaultFloatEnvironment&) = delete;
  DefaultFloatEnvironment& operator=(const DefaultFloatEnvironment&) = delete;

 private:
  std::fenv_t saved_;
};

}  // namespace interlude
