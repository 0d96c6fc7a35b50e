// The pictures of a run's workers, counted by class, as text and JSON; internal to report/.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "analysis/run_summary.h"

namespace interlude::internal {

/// How many pictures each worker has and, of the first classes and workers, of which class; empty
/// where it is not known.
std::string DataSection(const RunSummary& run);

/// {"classes": [...], "counts": [{"worker", "train_pictures", "test_pictures"}]}, all of them.
/// `worker` is null where one data set is split among all.
nlohmann::ordered_json JsonOfData(const RunSummary& run);

}  // namespace interlude::internal
