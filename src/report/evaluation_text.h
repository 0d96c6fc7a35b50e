// An evaluation for people and as JSON: how right the model is, as a whole and by class. Pure
// functions; any thread.
#pragma once

#include <string>
#include <vector>

#include "ledger/run_database.h"

namespace interlude {

/// "81.23 %, top 5: 99.10 %" (the latter where it is known).
std::string AccuracyText(const EvaluationRecord& evaluation);

/// The classes that are told worst, `most` at most (0: all, by label), each with what it is taken
/// for most; then the pairs that are confused most. Empty where none of it is known. `names` by
/// label, may be empty.
std::string ClassScoresText(const EvaluationRecord& evaluation,
                            const std::vector<std::string>& names, size_t most = 5);

/// One line of JSON: after_rounds, samples, correct, mean_loss; where they are known top5, classes
/// (name, samples, correct, predicted) and confusion (label, predicted, count).
std::string EvaluationJson(const EvaluationRecord& evaluation,
                           const std::vector<std::string>& names);

}  // namespace interlude
