// Where LibTorch's exceptions end.
#pragma once

#include <c10/util/Exception.h>

#include <exception>

#include "base/status.h"

namespace interlude {

/// What `body` returns, a Status or StatusOr; whatever it throws becomes Internal.
template <typename Body>
auto WithoutExceptions(Body&& body) -> decltype(body()) {
  try {
    return body();
  } catch (const c10::Error& error) {
    return InternalError("LibTorch: {}", error.what_without_backtrace());
  } catch (const std::exception& error) {
    return InternalError("LibTorch: {}", error.what());
  }
}

}  // namespace interlude
