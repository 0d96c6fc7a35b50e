// How far up in its model a tensor is, told from the tensors' names: what layer-wise decay of the
// learning rate goes by. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace interlude {

/// The depth of each tensor, for `names` in layout order. Where names have numbered layers
/// ("...layer.3...", "blocks.3..."): 0 for what comes before the first of them (embeddings),
/// N + 1 for layer N, and one more than the last layer's for what follows (final norm, head). Where
/// they have none, each module (a name up to its last dot) is as deep as its place in the order.
std::vector<uint32_t> LayerDepths(const std::vector<std::string>& names);

/// What the learning rate is multiplied with at each depth: decay^(depth of the head - depth), so
/// that the head, last, has the whole of it.
std::vector<double> LayerRates(const std::vector<uint32_t>& depths, double decay);

}  // namespace interlude
