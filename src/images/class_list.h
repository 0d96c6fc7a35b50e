// classes.txt: the names of all classes, where a data set may lack pictures of some. Any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace interlude {

inline constexpr char kClassListName[] = "classes.txt";

/// The names in DIRECTORY/classes.txt, a line each, in the order of their numbers; nothing without
/// such a file. Empty lines are passed over. InvalidArgument with file and line for a name that
/// comes twice, and for fewer than 2 or more than kMostClasses names.
StatusOr<std::optional<std::vector<std::string>>> ReadClassList(const std::string& directory);

}  // namespace interlude
