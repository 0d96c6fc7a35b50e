// The text of OpenMetrics 1.0, family by family. Not thread-safe; knows nothing of runs.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace interlude {

class OpenMetricsText {
 public:
  using Labels = std::vector<std::pair<std::string_view, std::string_view>>;
  enum class Type { kGauge, kCounter, kInfo };

  /// Begins a family; its samples follow. `unit` is empty or the last word of `name`.
  void Family(std::string_view name, Type type, std::string_view unit, std::string_view help);

  /// Of the family that was begun last; its suffix follows from the type. No two with the same
  /// labels. Label values may hold anything that is UTF-8.
  void Sample(const Labels& labels, double value);
  void Sample(const Labels& labels, std::integral auto value) {
    Append(labels, fmt::format("{}", value));
  }

  /// The whole text, with the line that ends it.
  std::string Finish() &&;

 private:
  void Append(const Labels& labels, std::string_view value);

  std::string text_;
  std::string name_;  // of the samples, with its suffix
};

}  // namespace interlude
