// What `interlude doctor` says about one thing: a value. Any thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace interlude {

enum class CheckGrade {
  kOk,       // costs no time
  kUnknown,  // could not be read, or it depends on what was not said
  kWarn,     // costs time in some runs
  kBad,      // costs much time, or the run will fail
};

/// "ok", "unknown", "warn", "bad".
const char* CheckGradeName(CheckGrade grade);

struct Check {
  std::string name;  // one word or two
  CheckGrade grade = CheckGrade::kUnknown;
  std::string figure;  // what was found, with its numbers
  std::string advice;  // what to do; empty where there is nothing
  /// The numbers of `figure` for programs: name with unit, value.
  std::vector<std::pair<std::string, double>> values = {};
};

using Checks = std::vector<Check>;

/// Whether any is bad.
bool AnyBad(const Checks& checks);

inline void Append(Checks& checks, const Checks& more) {
  checks.insert(checks.end(), more.begin(), more.end());
}

/// Lines of at most 80 columns that begin with the grade, advice below its line after "->", and a
/// last line that counts the grades. Bytes that a terminal might take for commands are made '?'.
std::string FormatChecks(const Checks& checks, bool color);

/// {"version": 1, "worst": GRADE, "checks": [{"name", "grade", "figure", "advice", "values"}]}.
std::string FormatChecksJson(const Checks& checks);

}  // namespace interlude
