/* A merge rule or an outer optimizer of your own, as a shared library that the coordinator loads
 * (outer.plugin = "/path/lib.so"). Plain C; see examples/merge_plugin/ for one that works, and
 * docs/merge.md for what happens around it.
 *
 * The rules of the game:
 *  - One chunk of the model at a time, whole. Chunks have different sizes; the last is shorter.
 *  - Several threads call at once, each for another chunk. No thread of yours, no lock needed.
 *  - Nothing is kept between calls but the declared state, which the coordinator owns, saves and
 *    restores. All memory of a call is the coordinator's and yours only until you return. A global
 *    that changes makes a run that cannot be recovered.
 *  - The same input must give the same bits, always: a round that was interrupted is computed again,
 *    and `interlude journal verify` compares. Build with -ffp-contract=off and without -ffast-math.
 *  - Deltas are finite. What you make must be: NaN or Inf ends the run with an error.
 *  - Return NULL when all went well, else a text that says what is wrong: the run ends with it. The
 *    text must live until the same thread calls again. Never throw, never exit.
 */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Changes when an existing plug-in would no longer work. */
#define INTERLUDE_MERGE_PLUGIN_ABI 1
/* Most values of state a parameter. */
#define INTERLUDE_MERGE_PLUGIN_MAX_STATE 8

/* What is worked on. */
struct interlude_merge_chunk {
  const char* config;   /* outer.plugin_config, never NULL */
  uint32_t round;       /* from 1 */
  uint32_t chunk;       /* from 0 */
  uint64_t first_param; /* of the chunk, within the model's flat sequence */
  uint64_t count;       /* parameters of the chunk: every array of floats below has as many */
};

/* What the workers sent, in worker-id order; at least one. A delta is a worker's parameters minus
 * the base. */
struct interlude_merge_deltas {
  uint32_t contributors;
  const float* const* deltas; /* deltas[k][i], decoded */
  const float* weights;       /* as outer.merge says: they sum to about 1; with outer.norm_bound
                                 a long delta's is smaller. What is not finite or too long for it
                                 has been dealt with, a rule of your own need not look at them. */
  const uint64_t* samples;    /* that each has trained on in this round */
};

struct interlude_merge_plugin {
  uint32_t abi;             /* INTERLUDE_MERGE_PLUGIN_ABI */
  uint32_t state_per_param; /* fp32 values kept for each parameter; 0 without outer_step */
  const char* name;         /* for messages and the run's record */

  /* Called once before the run: whether the text can be used. May be NULL. */
  const char* (*check_config)(const char* config);

  /* Makes `merged` of the deltas. NULL: the rule that outer.merge names does. */
  const char* (*merge)(const struct interlude_merge_chunk* chunk,
                       const struct interlude_merge_deltas* deltas, float* merged);

  /* Makes `update`, which is added to the base, of the merged delta. State is zero before the first
   * round; it is count * state_per_param values: the first value of all parameters of the chunk,
   * then the second of all, and so on. `base` is only read. NULL: the optimizer that
   * outer.optimizer names does. `merged`, `base`, `state` and `update` do not overlap. */
  const char* (*outer_step)(const struct interlude_merge_chunk* chunk, const float* merged,
                            const float* base, float* state, float* update);
};

/* The one function that the library exports. What it returns lives as long as the library. */
const struct interlude_merge_plugin* interlude_merge_plugin_v1(void);

#ifdef __cplusplus
}
#endif
