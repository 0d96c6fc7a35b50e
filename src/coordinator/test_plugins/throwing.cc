// A plug-in for tests that breaks the rule never to throw.
#include <stdexcept>

#include "interlude/merge_plugin.h"

namespace {

const char* Throw(const interlude_merge_chunk*, const interlude_merge_deltas*, float*) {
  throw std::runtime_error("caught you");
}

}  // namespace

const interlude_merge_plugin* interlude_merge_plugin_v1() {
  static const interlude_merge_plugin plugin = {
      INTERLUDE_MERGE_PLUGIN_ABI, 0, "throwing", nullptr, Throw, nullptr};
  return &plugin;
}
