/* A plug-in for tests: the built-in weighted mean and Nesterov once more, which must give the same
 * bits; and with some settings or macros everything that a plug-in can do wrong. */
#include <math.h>
#include <string.h>

#include "interlude/merge_plugin.h"

#ifndef TEST_ABI
#define TEST_ABI INTERLUDE_MERGE_PLUGIN_ABI
#endif
#ifndef TEST_STATE
#define TEST_STATE 1
#endif
#ifndef TEST_MERGE
#define TEST_MERGE merge
#endif
#ifndef TEST_STEP
#define TEST_STEP outer_step
#endif

static const char* check_config(const char* config) {
  return strcmp(config, "refuse me") == 0 ? "these settings are no good" : 0;
}

static const char* merge(const struct interlude_merge_chunk* chunk,
                         const struct interlude_merge_deltas* deltas, float* merged) {
  if (strcmp(chunk->config, "merge error") == 0) return "the moon is full";
  for (uint64_t i = 0; i < chunk->count; ++i) {
    merged[i] = 0;
    for (uint32_t k = 0; k < deltas->contributors; ++k) {
      const float part = deltas->weights[k] * deltas->deltas[k][i];
      merged[i] = merged[i] + part;
    }
  }
  if (strcmp(chunk->config, "nan") == 0) merged[chunk->count - 1] = NAN;
  return 0;
}

static const char* outer_step(const struct interlude_merge_chunk* chunk, const float* merged,
                              const float* base, float* state, float* update) {
  (void)base;
  if (strcmp(chunk->config, "step error") == 0) return "no step today";
  for (uint64_t i = 0; i < chunk->count; ++i) {
    const float kept = 0.7f * state[i];
    state[i] = kept + merged[i];
    const float next = 0.7f * state[i];
    const float ahead = merged[i] + next;
    update[i] = 0.7f * ahead;
  }
  return 0;
}

#ifndef TEST_NO_ENTRY
const struct interlude_merge_plugin* interlude_merge_plugin_v1(void) {
  static const struct interlude_merge_plugin plugin = {
      TEST_ABI, TEST_STATE, "mean and nesterov", check_config, TEST_MERGE, TEST_STEP};
  (void)merge;
  (void)outer_step;
  return &plugin;
}
#endif
