// All that `interlude bench exchange` found, and what it says of it: text for people, JSON for
// programs, and the bars. Plain values; nothing is measured here.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/exchange_bytes.h"
#include "bench/exchange_summary.h"
#include "bench/machine_speed.h"
#include "bench/memory_sampler.h"
#include "config/run_config.h"

namespace interlude {

/// Names of the ways in which the exchange can be run.
inline constexpr char kPipelinedMode[] = "pipelined";
inline constexpr char kBarrierMode[] = "barrier";
/// A barrier, and the whole model saved in every round: for comparison.
inline constexpr char kBarrierSaveMode[] = "barrier-save";

/// One run.
struct ModeFigures {
  std::string mode;
  ExchangeSummary summary;
  std::vector<ProcessSamples> memory;  // the coordinator first
  /// The coordinator's RssAnon before a worker came, and when the run was over.
  std::optional<uint64_t> coordinator_before;
  std::optional<uint64_t> coordinator_after;
};

struct ExchangeFigures {
  RunConfig config;  // what all runs have in common
  uint32_t workers = 0;
  MachineDescription machine;
  MemorySpeed memory_before;  // all processes' runs
  MemorySpeed memory_after;
  double tcp_loopback = 0;  // bytes a second
  double disk_write = 0;
  std::vector<ModeFigures> modes;

  double model_bytes() const {
    return static_cast<double>(config.model.synthetic_params) * sizeof(float);
  }
  /// memcpy's bytes a second: the faster of before and after, since what disturbs a measurement
  /// only slows it.
  double copy_speed() const { return std::max(memory_before.copy, memory_after.copy); }
  /// What memcpy needs for the bytes of ExchangeBytes.
  double bound_seconds() const;
  const ModeFigures* Find(const std::string& mode) const;
};

/// The median round's longest exchange.
std::optional<double> ExchangeSeconds(const ModeFigures& mode);

/// A figure and what it must reach.
struct Bar {
  std::string what;
  double value = 0;
  double limit = 0;
  bool at_most = true;  // else at least
  std::string unit;     // "x", "of fp32"

  bool met() const { return at_most ? value <= limit : value >= limit; }
  /// "2.41 x (the bar: <= 3 x, met)".
  std::string ToString() const;
};

/// Those that the runs have figures for.
std::vector<Bar> ExchangeBars(const ExchangeFigures& figures);

std::string FormatExchangeText(const ExchangeFigures& figures);
std::string FormatExchangeJson(const ExchangeFigures& figures);

/// "86M", "1.5G", "200K" or plain digits: a count of parameters. K, M, G are 10^3, 10^6, 10^9.
/// InvalidArgument for anything else, 0 and fractions of a parameter.
StatusOr<uint64_t> ParseCount(const std::string& text);

}  // namespace interlude
