// Made-up runs in each of which something is to be found, for the tests of findings and of their
// queries. One thread.
#pragma once

#include <string>
#include <vector>

#include "analysis/cause_world.h"
#include "analysis/findings.h"

namespace interlude {

/// A run and all that findings are made of. The tables live in `world`.
struct FindingExample {
  std::string id;  // of the finding that it is about
  CauseWorld world{3, 12};
  std::vector<EventRecord> events;
  std::vector<ClockRecord> clocks;
  std::vector<PathShare> path;
  Drags drags;
  uint64_t parameters = 0;
  std::string config;
  /// Held against the tables after the world has made them.
  bool differing_hash = false;

  /// Valid until the next call.
  FindingTables Tables();
  std::vector<Finding> Find();

 private:
  CauseTables tables_;
};

/// One for each kind of finding.
std::vector<FindingExample> FindingExamples();

/// A path of which each round's time is divided as `shares` say; the rest is training.
std::vector<PathShare> PathOf(const CauseTables& tables,
                              const std::vector<std::pair<std::string_view, double>>& shares);

}  // namespace interlude
