// Walks a TraceRun and feeds a sink; internal to report/. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/run_trace.h"
#include "report/trace_sink.h"

namespace interlude::internal {

/// The slices of one row: a phase of one process, at the coordinator of one worker.
struct RowKey {
  int32_t process = kNoWorker;
  int32_t about_worker = kNoWorker;
  size_t place = 0;  // of the phase in a round
  auto operator<=>(const RowKey&) const = default;
};

struct Row {
  std::vector<const Span*> spans;
  std::vector<const ChunkStamps*> stamps;
};

class TraceWriter {
 public:
  TraceWriter(const TraceRun& run, TraceClocks clocks, TraceSink& sink)
      : run_(run), clocks_(clocks), sink_(sink) {}

  void Write() {
    Gather();
    for (const auto& [process, begin_ns] : begins_) WriteProcess(process);
    sink_.Finish();
  }

 private:
  void Gather();
  void See(int32_t process, int64_t begin_ns);
  void WriteProcess(int32_t process);
  TraceProcess Describe(int32_t process);
  uint64_t NewTrack(int32_t process, uint64_t parent, const std::string& name,
                    std::string_view description = "", std::optional<std::string> unit = {});
  void WriteRounds(uint64_t parent);
  void WriteMoments(uint64_t parent);
  void AddInstants(std::vector<TraceSlice> instants);
  void WriteEvents(uint64_t parent);
  void WriteResults(uint64_t parent);
  /// What brings a process's times onto the coordinator's clock; 0 where they stay as they are.
  int64_t ShiftIn(int32_t process, uint32_t round) const;
  int64_t ShiftAt(int32_t process, int64_t own_ns) const;
  void WriteRow(const RowKey& key, const Row& row, uint64_t parent);
  uint64_t WriteSpans(const RowKey& key, const std::vector<const Span*>& spans, uint64_t parent);
  void WriteChunks(const RowKey& key, const std::vector<const ChunkStamps*>& stamps,
                   uint64_t parent);
  std::vector<uint64_t> FlowsOf(const ChunkStamps& stamps, uint32_t chunk) const;
  uint64_t Flow(uint32_t round, int32_t worker, uint32_t chunk) const;
  void WriteSamples(int32_t process, uint64_t parent);
  void WriteMemory(int32_t process, uint64_t parent);

  const TraceRun& run_;
  const TraceClocks clocks_;
  TraceSink& sink_;
  std::map<int32_t, int64_t>
      begins_;  // of each process, on its clock; the coordinator, -1, is first
  std::map<RowKey, Row> rows_;
  std::map<uint32_t, std::set<int32_t>> merged_workers_;      // by round
  std::map<uint64_t, std::map<std::string, int32_t>> ranks_;  // of a parent's tracks, by name
  uint64_t tracks_ = 0;
};

}  // namespace interlude::internal
