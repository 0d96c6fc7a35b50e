#include "ledger/data_facts.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace interlude {

namespace {

using Json = nlohmann::json;

// What is no UTF-8 comes out with replacement characters.
std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Status BadNormalization() {
  return InvalidArgumentError("the normalisation is not {{\"mean\": [...], \"deviation\": [...]}}");
}

Status ReadClasses(std::string_view text, DataFacts& facts) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_array() || json.empty() || json.size() > kMostClassNames)
    return InvalidArgumentError("the class names are no list of 1 to {} texts", kMostClassNames);
  for (const Json& name : json) {
    if (!name.is_string()) return InvalidArgumentError("the class names are no list of texts");
    facts.classes.push_back(name.get<std::string>());
  }
  return OkStatus();
}

Status ReadNumbers(const Json& json, std::vector<float>& numbers) {
  if (!json.is_array() || json.empty() || json.size() > kMostChannels) return BadNormalization();
  for (const Json& number : json) {
    if (!number.is_number()) return BadNormalization();
    numbers.push_back(number.get<float>());
    if (!std::isfinite(numbers.back())) return BadNormalization();
  }
  return OkStatus();
}

Status ReadNormalization(std::string_view text, DataFacts& facts) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("mean") || !json.contains("deviation"))
    return BadNormalization();
  INTERLUDE_RETURN_IF_ERROR(ReadNumbers(json["mean"], facts.mean));
  INTERLUDE_RETURN_IF_ERROR(ReadNumbers(json["deviation"], facts.deviation));
  const bool divides = std::ranges::all_of(facts.deviation, [](float d) { return d > 0; });
  if (facts.mean.size() != facts.deviation.size() || !divides) return BadNormalization();
  return OkStatus();
}

}  // namespace

std::string DescribeDifference(const DataFacts& theirs, const DataFacts& ours) {
  if (!theirs.classes.empty() && !ours.classes.empty()) {
    if (theirs.classes.size() != ours.classes.size())
      return fmt::format("{} classes, the run has {}", theirs.classes.size(), ours.classes.size());
    const auto [their, our] = std::ranges::mismatch(theirs.classes, ours.classes);
    if (their != theirs.classes.end()) {
      return fmt::format("class {} is \"{}\", the run's is \"{}\"", their - theirs.classes.begin(),
                         *their, *our);
    }
  }
  if (theirs.mean.empty() || ours.mean.empty()) return "";
  if (theirs.mean == ours.mean && theirs.deviation == ours.deviation) return "";
  return fmt::format("pixels are normalised with {}, in the run with {}", NormalizationText(theirs),
                     NormalizationText(ours));
}

std::string DescribeCountDifference(const DataFacts& theirs, const DataFacts& ours) {
  if (theirs.counts.empty() || ours.counts.empty()) return "";
  const auto compare = [&](const std::vector<uint64_t>& their, const std::vector<uint64_t>& our,
                           std::string_view part) -> std::string {
    if (their.size() != our.size())
      return fmt::format("{} classes, the run has {}", their.size(), our.size());
    const auto [a, b] = std::ranges::mismatch(their, our);
    if (a == their.end()) return "";
    const std::string name = ClassName(ours.classes, static_cast<size_t>(a - their.begin()));
    return fmt::format("{} {} pictures of class \"{}\", the run's data set has {}", *a, part, name,
                       *b);
  };
  std::string difference = compare(theirs.counts.train, ours.counts.train, "training");
  if (difference.empty()) difference = compare(theirs.counts.test, ours.counts.test, "test");
  return difference;
}

std::string ClassesText(const DataFacts& facts) {
  return facts.classes.empty() ? "" : Dump(Json(facts.classes));
}

std::string NormalizationText(const DataFacts& facts) {
  if (facts.mean.empty()) return "";
  // The shortest text that gives the same fp32 number.
  return fmt::format("{{\"mean\": [{}], \"deviation\": [{}]}}", fmt::join(facts.mean, ", "),
                     fmt::join(facts.deviation, ", "));
}

StatusOr<DataFacts> ReadDataFacts(std::string_view classes, std::string_view normalization) {
  DataFacts facts;
  if (!classes.empty()) INTERLUDE_RETURN_IF_ERROR(ReadClasses(classes, facts));
  if (!normalization.empty()) INTERLUDE_RETURN_IF_ERROR(ReadNormalization(normalization, facts));
  return facts;
}

std::string ClassName(const std::vector<std::string>& classes, size_t label) {
  return label < classes.size() ? classes[label] : std::to_string(label);
}

}  // namespace interlude
