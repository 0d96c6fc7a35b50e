/* A merge plug-in that does what no plug-in should: it keeps a copy of every merged delta and never
 * lets go, as a reference cycle in the aggregation once did. Its arithmetic is the weighted mean.
 * For `interlude repro F7` alone: what the account of memory says of such a run. */
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "interlude/merge_plugin.h"

struct held {
  struct held* next;
  float values[];
};

static _Atomic(struct held*) newest;

static const char* hold(const float* merged, uint64_t count) {
  struct held* copy = malloc(sizeof *copy + count * sizeof *merged);
  if (copy == NULL) return "there is no memory left to hold objects in";
  memcpy(copy->values, merged, count * sizeof *merged);
  copy->next = atomic_load(&newest);
  while (!atomic_compare_exchange_weak(&newest, &copy->next, copy)) {
  }
  return NULL;
}

static const char* merge(const struct interlude_merge_chunk* chunk,
                         const struct interlude_merge_deltas* deltas, float* merged) {
  for (uint64_t i = 0; i < chunk->count; ++i) {
    float sum = 0;
    for (uint32_t k = 0; k < deltas->contributors; ++k)
      sum += deltas->weights[k] * deltas->deltas[k][i];
    merged[i] = sum;
  }
  return hold(merged, chunk->count);
}

const struct interlude_merge_plugin* interlude_merge_plugin_v1(void) {
  static const struct interlude_merge_plugin plugin = {
      .abi = INTERLUDE_MERGE_PLUGIN_ABI,
      .name = "held models",
      .merge = merge,
  };
  return &plugin;
}
