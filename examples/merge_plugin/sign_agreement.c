/* A merge plug-in: moves a parameter only where the workers agree on the direction, with an SGD that
 * has momentum as outer optimizer. README.md beside it says how to build and use it.
 *
 * Merge: of each parameter, `share` is the weight of those who want to go up minus that of those who
 * want to go down, relative to all. Where |share| < agreement the parameter stays; elsewhere its
 * delta is the weighted mean.
 *
 * Outer step: momentum = mu * momentum + delta; update = lr * momentum. One value of state.
 *
 * outer.plugin_config: any of "agreement=0.5 learning_rate=0.7 momentum=0.8", in any order. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "interlude/merge_plugin.h"

struct settings {
  float agreement;
  float learning_rate;
  float momentum;
};

/* Reads the text anew each time, since nothing may be kept between calls. */
static const char* read_settings(const char* text, struct settings* settings) {
  const struct {
    const char* name;
    float* value;
  } known[] = {{"agreement=", &settings->agreement},
               {"learning_rate=", &settings->learning_rate},
               {"momentum=", &settings->momentum}};
  settings->agreement = 0.5f;
  settings->learning_rate = 0.7f;
  settings->momentum = 0.8f;
  while (*(text += strspn(text, " ")) != '\0') {
    size_t i = 0;
    while (i < 3 && strncmp(text, known[i].name, strlen(known[i].name)) != 0) ++i;
    if (i == 3) return "known settings are agreement=, learning_rate= and momentum=";
    const char* number = text + strlen(known[i].name);
    char* end;
    *known[i].value = strtof(number, &end);
    if (end == number || !isfinite(*known[i].value)) return "a setting has no number";
    text = end;
  }
  return NULL;
}

static const char* check_config(const char* config) {
  struct settings settings;
  return read_settings(config, &settings);
}

static const char* merge(const struct interlude_merge_chunk* chunk,
                         const struct interlude_merge_deltas* deltas, float* merged) {
  struct settings settings;
  const char* error = read_settings(chunk->config, &settings);
  if (error != NULL) return error;
  for (uint64_t i = 0; i < chunk->count; ++i) {
    float sum = 0, up_or_down = 0, all = 0;
    for (uint32_t k = 0; k < deltas->contributors; ++k) {
      const float delta = deltas->deltas[k][i];
      const float weight = deltas->weights[k];
      sum += weight * delta;
      up_or_down += delta > 0 ? weight : delta < 0 ? -weight : 0;
      all += weight;
    }
    merged[i] = fabsf(up_or_down) < settings.agreement * all ? 0 : sum;
  }
  return NULL;
}

static const char* outer_step(const struct interlude_merge_chunk* chunk, const float* merged,
                              const float* base, float* state, float* update) {
  struct settings settings;
  const char* error = read_settings(chunk->config, &settings);
  if (error != NULL) return error;
  (void)base;
  for (uint64_t i = 0; i < chunk->count; ++i) {
    state[i] = settings.momentum * state[i] + merged[i];
    update[i] = settings.learning_rate * state[i];
  }
  return NULL;
}

const struct interlude_merge_plugin* interlude_merge_plugin_v1(void) {
  static const struct interlude_merge_plugin plugin = {
      .abi = INTERLUDE_MERGE_PLUGIN_ABI,
      .state_per_param = 1,
      .name = "sign agreement",
      .check_config = check_config,
      .merge = merge,
      .outer_step = outer_step,
  };
  return &plugin;
}
