// An evaluation as a JSON value; internal to report/.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ledger/run_database.h"

namespace interlude::internal {

/// See EvaluationJson.
nlohmann::ordered_json JsonOfEvaluation(const EvaluationRecord& evaluation,
                                        const std::vector<std::string>& names);

}  // namespace interlude::internal
