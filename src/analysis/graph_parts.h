// What round graphs are put together with: activities as they are added, the activities of one
// phase by chunk and by time, and the threads of a pool. One thread at a time.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory_resource>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "analysis/activity_graph.h"
#include "ledger/chunk_stamps.h"

namespace interlude {

using MaybeActivity = std::optional<uint32_t>;

/// Those that there are.
inline Places Known(std::initializer_list<MaybeActivity> activities) {
  Places known;
  for (const MaybeActivity& activity : activities) {
    if (activity) known.push_back(*activity);
  }
  return known;
}

/// Adds activities one after the other.
class GraphBuilder {
 public:
  /// Of about so many activities, in `memory`, which outlives the graph.
  GraphBuilder(size_t expected, std::pmr::memory_resource* memory) : graph_(memory) {
    graph_.reserve(expected);
  }
  uint32_t Add(Activity&& activity) {
    graph_.push_back(std::move(activity));
    return static_cast<uint32_t>(graph_.size() - 1);
  }
  /// One that works on as its input comes, or that is recorded as a whole: counts only from where
  /// all that it is after has ended.
  uint32_t AddTail(Activity&& activity);
  /// Of no length, where the last of them ends; nothing where there are none. Keeps the graph small
  /// where all of one stage wait for all of another.
  MaybeActivity Join(Places after);

  int64_t EndOf(uint32_t activity) const { return graph_[activity].end_ns; }
  const Activity& at(uint32_t activity) const { return graph_[activity]; }
  ActivityGraph Take() { return std::move(graph_); }
  /// What the graph is in; for what is needed beside it.
  std::pmr::memory_resource* memory() const { return graph_.get_allocator().resource(); }

 private:
  ActivityGraph graph_;
};

/// The activities of one phase of one worker, or of the merge.
class Stage {
 public:
  /// In `memory`, which outlives it.
  explicit Stage(std::pmr::memory_resource* memory)
      : by_end_(memory), of_chunk_(memory), by_chunk_(memory) {}
  /// About so many.
  void Expect(size_t activities) { by_end_.reserve(activities); }
  void Add(uint32_t chunk, int64_t end_ns, uint32_t activity) {
    by_end_.push_back({chunk, activity, end_ns});
  }
  /// Between the last Add and the first question.
  void Sort();

  bool empty() const { return by_end_.empty(); }
  size_t size() const { return by_end_.size(); }
  Places All() const;
  MaybeActivity Last() const;
  /// What ended last, but not after `ns`.
  MaybeActivity LastBy(int64_t ns) const;
  /// The chunk's that ended last by `ns`, else its first; where nothing is known of the chunk, the
  /// whole phase's. Of kNoChunk: the last.
  MaybeActivity OfChunk(uint32_t chunk, int64_t ns) const {
    return IsOnce(chunk) ? MaybeActivity(of_chunk_[chunk]) : OfRepeated(chunk, ns);
  }
  /// The chunk's that ended first; what comes later is a repetition.
  MaybeActivity FirstOfChunk(uint32_t chunk) const {
    return IsOnce(chunk) ? MaybeActivity(of_chunk_[chunk]) : FirstOfRepeated(chunk);
  }

 private:
  struct Entry {
    uint32_t chunk;
    uint32_t activity;
    int64_t end_ns;
  };
  bool IsOnce(uint32_t chunk) const { return chunk < of_chunk_.size(); }
  /// Fills of_chunk_; leaves it empty where some chunk is not there, or more than once.
  void PlaceByChunk();
  MaybeActivity OfRepeated(uint32_t chunk, int64_t ns) const;
  MaybeActivity FirstOfRepeated(uint32_t chunk) const;

  std::pmr::vector<Entry> by_end_;
  std::pmr::vector<uint32_t> of_chunk_;  // of chunks 0, 1, 2, ..., where each is there once
  std::pmr::vector<Entry> by_chunk_;     // then by end; of all others
};

/// Which task's end freed the thread for the next one. A pool gives a task to the thread that has
/// been free for longest: a task that was held up by the pool began when the only free thread had
/// just become so, and any other finds one that has been free for long. How many threads there are
/// is `known`, or how many tasks ever ran side by side, whichever is more.
class PoolThreads {
 public:
  /// `tasks` in order of their begin. `known` may be 0.
  PoolThreads(const std::pmr::vector<ChunkStamp>& tasks, int32_t known);
  /// The task before the next one on its thread. Tasks are asked for in order of their begin.
  MaybeActivity Take();
  /// After Take: the activity that the task is.
  void Occupy(int64_t end_ns, uint32_t activity);

 private:
  struct Thread {
    int64_t free_ns;
    MaybeActivity activity;
  };
  std::pmr::vector<Thread> threads_;  // a heap: the one that is free for longest in front
};

/// In order of begin, in `memory`.
std::pmr::vector<ChunkStamp> ByBegin(std::span<const ChunkStamp> stamps,
                                     std::pmr::memory_resource* memory);

}  // namespace interlude
