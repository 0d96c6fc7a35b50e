// libvips behind two small things: images that are released, and a call's error that is its own.
// Only for decode.cc.
#pragma once

#include <vips/vips.h>

#include <functional>
#include <memory>
#include <string>

#include "base/status.h"

namespace interlude {

struct UnrefObject {
  void operator()(void* object) const { g_object_unref(object); }
};
using VipsImagePtr = std::unique_ptr<VipsImage, UnrefObject>;
using VipsRegionPtr = std::unique_ptr<VipsRegion, UnrefObject>;

/// Runs `body`, which returns false where a function of libvips failed, and then gives DataLoss,
/// or ResourceExhausted where it has no memory, with that function's message. The message lies in
/// one buffer of the whole process, to which other threads may add: so after a failure the body
/// runs once more, alone. Starts libvips on first use.
Status WithVips(const std::function<bool()>& body);

/// Another picture made of `image` by `operation`, which is a call of libvips (0: done).
template <typename Operation>
bool Replace(VipsImagePtr& image, Operation&& operation) {
  VipsImage* out = nullptr;
  if (operation(image.get(), &out) != 0) return false;
  image.reset(out);
  return true;
}

}  // namespace interlude
