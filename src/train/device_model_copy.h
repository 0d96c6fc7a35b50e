// The worker's copy of a model whose parameters are tensors on a device: encoding, applying and
// hashing happen there, and payloads and hashes cross to the host. In host memory the worker's own
// copy, with the codec's kernels, is the better one.
#pragma once

#include <ATen/ATen.h>

#include <memory>

#include "codec/chunk_codec.h"
#include "layout/layout.h"
#include "worker/model_copy.h"

namespace interlude {

/// The parameters as they are become the base. `parameters` is fp32, one-dimensional, in the order
/// of `layout`, at the beginning of its storage, which the copy shares with the trainer. With
/// `keep_residual` encoding keeps what it lost (error feedback).
///
/// A device has one queue of work, so calls from several threads take turns. The base's hashes are
/// computed when first asked for, of all chunks changed by then: ask once all are applied, not
/// after each. Memory on the device: 4 bytes a parameter, 8 with a residual; while a call runs some
/// 20 bytes a value of one chunk, and for hashing 1/4 byte a parameter.
///
/// Throws LibTorch's exceptions (no memory on the device); once it's made, one that a call meets (a
/// device that was lost) ends the process, since nothing on the device can be trusted from then on.
std::unique_ptr<ModelCopy> CreateDeviceModelCopy(const Layout& layout, Codec codec,
                                                 bool keep_residual, at::Tensor parameters);

}  // namespace interlude
