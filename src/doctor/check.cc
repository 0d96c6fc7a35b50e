#include "doctor/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "report/table.h"

namespace interlude {
namespace {

constexpr size_t kColumns = 80;
constexpr size_t kGradeColumns = 9;
constexpr size_t kIndent = 26;  // where the figure begins

/// What sets and resets a grade's colour.
std::string_view ColorOf(CheckGrade grade) {
  switch (grade) {
    case CheckGrade::kOk:
      return "\x1b[32m";
    case CheckGrade::kWarn:
      return "\x1b[33m";
    case CheckGrade::kBad:
      return "\x1b[31m";
    case CheckGrade::kUnknown:
      return "\x1b[2m";
  }
  return "";
}

/// Wrapped by its own width, then moved to the right: Wrap counts from where the text begins.
std::string Block(const std::string& text) {
  const std::string lines = Wrap(Printable(text), kColumns - kIndent);
  std::string out;
  for (size_t begin = 0; begin < lines.size();) {
    const size_t end = lines.find('\n', begin) + 1;
    if (begin > 0) out += std::string(kIndent, ' ');
    out += lines.substr(begin, end - begin);
    begin = end;
  }
  return out;
}

std::string FormatCheck(const Check& check, bool color) {
  std::string grade = fmt::format("{:<{}}", CheckGradeName(check.grade), kGradeColumns);
  if (color) grade = fmt::format("{}{}\x1b[0m", ColorOf(check.grade), grade);
  std::string text = fmt::format("{}{:<{}}{}", grade, Printable(check.name),
                                 kIndent - kGradeColumns, Block(check.figure));
  if (!check.advice.empty()) text += std::string(kIndent, ' ') + Block("-> " + check.advice);
  return text;
}

CheckGrade Worst(const Checks& checks) {
  CheckGrade worst = CheckGrade::kOk;
  for (const Check& check : checks) worst = std::max(worst, check.grade);
  return worst;
}

}  // namespace

const char* CheckGradeName(CheckGrade grade) {
  switch (grade) {
    case CheckGrade::kOk:
      return "ok";
    case CheckGrade::kUnknown:
      return "unknown";
    case CheckGrade::kWarn:
      return "warn";
    case CheckGrade::kBad:
      return "bad";
  }
  return "?";
}

bool AnyBad(const Checks& checks) { return Worst(checks) == CheckGrade::kBad; }

std::string FormatChecks(const Checks& checks, bool color) {
  std::string text;
  std::array<size_t, 4> counts = {};
  for (const Check& check : checks) {
    text += FormatCheck(check, color);
    ++counts[static_cast<size_t>(check.grade)];
  }
  const auto count = [&](CheckGrade grade) { return counts[static_cast<size_t>(grade)]; };
  return text + fmt::format("\n{} bad, {} to look at, {} ok, {} unknown\n", count(CheckGrade::kBad),
                            count(CheckGrade::kWarn), count(CheckGrade::kOk),
                            count(CheckGrade::kUnknown));
}

std::string FormatChecksJson(const Checks& checks) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (const Check& check : checks) {
    Json values = Json::object();
    for (const auto& [name, value] : check.values) values[name] = value;
    list.push_back({{"name", check.name},
                    {"grade", CheckGradeName(check.grade)},
                    {"figure", check.figure},
                    {"advice", check.advice},
                    {"values", values}});
  }
  const Json report = {{"version", 1}, {"worst", CheckGradeName(Worst(checks))}, {"checks", list}};
  // Text from files and other machines may be no UTF-8.
  return report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace interlude
