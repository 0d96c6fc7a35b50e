// Predictions for people, as JSON and as CSV. Pure functions; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "train/predictor.h"

namespace interlude {

/// The file's name, and below it a line for each class: "   91.24 %  cat". `names` by label; a
/// label without one is its number.
std::string PredictionText(const FilePrediction& prediction, const std::vector<std::string>& names);

/// One line: {"file": ..., "top": [{"class", "label", "probability"}, ...]}. What is no UTF-8 comes
/// out with replacement characters.
std::string PredictionJson(const FilePrediction& prediction, const std::vector<std::string>& names);

/// file,class_1,probability_1,... of a table that names `top` classes a file; and a line of it.
/// Quoted as in RFC 4180 where necessary; lines end in \n.
std::string PredictionCsvHeader(size_t top);
std::string PredictionCsv(const FilePrediction& prediction, const std::vector<std::string>& names);

/// Control characters, of ASCII and of Unicode's C1, as question marks: a file's name must not
/// command the terminal.
std::string WithoutControls(std::string_view text);

}  // namespace interlude
