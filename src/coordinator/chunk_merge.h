// What happens to one chunk in a merge, as the configuration says: rule and bounds, outer step,
// encoding and hashes, all in one pass over memory; or rule and step are a plug-in's, which takes
// the chunk whole. Arithmetic on memory that others own (docs/merge.md). Immutable; any thread,
// each chunk one at a time.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "codec/chunk_codec.h"
#include "coordinator/merge_plugin.h"
#include "coordinator/merge_settings.h"
#include "protocol/types.h"

namespace interlude {

/// The memory of one chunk.
struct ChunkArrays {
  uint64_t first_param = 0;  // of the chunk, in the flat sequence
  std::span<float> base;
  std::span<float> state;     // base.size() * state_per_param(); the average, if any, last
  std::span<float> residual;  // empty with fp32
};

/// What a merge did to its contributors; entry k is the k-th one's.
struct MergeReport {
  /// What its delta of the chunk was multiplied with for being too long (outer.norm_bound); 1: it
  /// was not.
  std::vector<double> factors;
  /// Share of its values that were cut for being among the extremes (trimmed mean, median), in a
  /// sample of the chunk's parameters; 0 with other rules. Of an honest worker about
  /// `usual_cut_share`, of one that always exaggerates 1.
  std::vector<double> cut_shares;
  double usual_cut_share = 0;
};

class ChunkMerge {
 public:
  /// Errors of MergePlugin::Load where the configuration names a plug-in; InvalidArgument when it
  /// does not go with the rest.
  static StatusOr<ChunkMerge> Create(const RunConfig& config);

  Codec codec() const { return codec_; }
  /// Null: none.
  const MergePlugin* plugin() const { return plugin_.get(); }
  /// Values of outer state for each parameter, the optimizer's or the plug-in's and, where there is
  /// a moving average of the base, its.
  size_t state_per_param() const { return step_state_per_param_ + (ema_decay_ > 0 ? 1 : 0); }
  /// Of the moving average of the base (optim/base_average.h); 0: there is none.
  float ema_decay() const { return ema_decay_; }

  /// Merges `payloads`, payloads[k] of order.contributors[k], into the arrays, and writes the sync
  /// payload. `report`, where given, says what was done to each contributor.
  ///
  /// Without contributors the sync payload is of zeros, no step is taken, state and residual stay
  /// as they are (but the average goes on), and so does the base but for -0, which becomes +0 as
  /// with everyone who applies the payload. With first_nonfinite set, or Internal when a plug-in
  /// fails, all but `payloads` is unspecified.
  StatusOr<MergeOutcome> Merge(const MergeOrder& order,
                               std::span<const std::span<const std::byte>> payloads,
                               const ChunkArrays& arrays, std::span<std::byte> sync,
                               MergeReport* report = nullptr) const;

 private:
  /// One call of Merge.
  struct Work;

  ChunkMerge(const RunConfig& config, std::shared_ptr<const MergePlugin> plugin);

  void Weigh(Work& work) const;
  MergeReport ReportOf(const Work& work) const;
  /// The rule's function, which also counts who is cut; none for means.
  CombineFunction CombineOf(Work& work) const;
  UpdateFunction StepOf(const Work& work) const;
  MergeOutcome MergeByRule(Work& work) const;
  /// Stage by stage over the whole chunk, since a plug-in may want to see all of it.
  StatusOr<MergeOutcome> MergeByPlugin(Work& work) const;
  /// All but the average, of which `arrays.state` has nothing.
  StatusOr<MergeOutcome> MergeWithoutAverage(const MergeOrder& order,
                                             std::span<const std::span<const std::byte>> payloads,
                                             const ChunkArrays& arrays, std::span<std::byte> sync,
                                             MergeReport* report) const;
  Status PluginMerge(const Work& work, const interlude_merge_chunk& chunk,
                     std::span<float> merged) const;

  Codec codec_;
  MergeOptions rule_;
  OuterOptimizerOptions optimizer_;
  std::shared_ptr<const MergePlugin> plugin_;  // null: none
  size_t step_state_per_param_;                // what the optimizer or plug-in keeps
  float ema_decay_;
};

}  // namespace interlude
