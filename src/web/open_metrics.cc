#include "web/open_metrics.h"

#include <cmath>

namespace interlude {
namespace {

std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\' || c == '"') escaped += '\\';
    if (c == '\n')
      escaped += "\\n";
    else
      escaped += c;
  }
  return escaped;
}

std::string_view TypeName(OpenMetricsText::Type type) {
  switch (type) {
    case OpenMetricsText::Type::kGauge:
      return "gauge";
    case OpenMetricsText::Type::kCounter:
      return "counter";
    case OpenMetricsText::Type::kInfo:
      return "info";
  }
  return "unknown";
}

std::string_view Suffix(OpenMetricsText::Type type) {
  switch (type) {
    case OpenMetricsText::Type::kGauge:
      return "";
    case OpenMetricsText::Type::kCounter:
      return "_total";
    case OpenMetricsText::Type::kInfo:
      return "_info";
  }
  return "";
}

}  // namespace

void OpenMetricsText::Family(std::string_view name, Type type, std::string_view unit,
                             std::string_view help) {
  name_ = fmt::format("{}{}", name, Suffix(type));
  text_ += fmt::format("# TYPE {} {}\n", name, TypeName(type));
  if (!unit.empty()) text_ += fmt::format("# UNIT {} {}\n", name, unit);
  text_ += fmt::format("# HELP {} {}\n", name, Escaped(help));
}

void OpenMetricsText::Sample(const Labels& labels, double value) {
  if (std::isnan(value)) return Append(labels, "NaN");
  if (std::isinf(value)) return Append(labels, value > 0 ? "+Inf" : "-Inf");
  Append(labels, fmt::format("{}", value));
}

void OpenMetricsText::Append(const Labels& labels, std::string_view value) {
  text_ += name_;
  if (!labels.empty()) {
    char before = '{';
    for (const auto& [name, label] : labels) {
      text_ += fmt::format("{}{}=\"{}\"", before, name, Escaped(label));
      before = ',';
    }
    text_ += '}';
  }
  text_ += fmt::format(" {}\n", value);
}

std::string OpenMetricsText::Finish() && { return std::move(text_) + "# EOF\n"; }

}  // namespace interlude
