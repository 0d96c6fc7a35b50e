#include "model/weight_plan.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>

namespace interlude {
namespace {

using Kind = PlannedTensor::Kind;
using Shape = std::vector<int64_t>;

constexpr std::string_view kPositions = "vit.embeddings.position_embeddings";
constexpr size_t kMostNames = 6;

std::string ShapeText(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

/// "a, b, c and 12 more".
std::string NamesText(const std::vector<std::string>& names) {
  const size_t shown = std::min(names.size(), kMostNames);
  std::string text =
      fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<long>(shown), ", "));
  if (shown < names.size()) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

class Planner {
 public:
  Planner(const ModelConfig& config, const std::vector<ModelParameter>& parameters,
          std::span<const SafetensorsEntry> file)
      : config_(config), parameters_(parameters), file_(file) {
    for (size_t i = 0; i < file.size(); ++i) by_name_[file[i].name] = i;
  }

  StatusOr<WeightPlan> Plan() {
    std::vector<std::string_view> names;
    for (const auto& [name, index] : by_name_) names.push_back(name);
    const auto naming = RecogniseNaming(names);
    if (!naming) {
      return InvalidArgumentError(
          "its names are not those of a vision transformer in Hugging Face, timm or torchvision: "
          "there is none of vit.embeddings.patch_embeddings.projection.weight, "
          "patch_embed.proj.weight and conv_proj.weight");
    }
    plan_.naming = *naming;
    DecideHead();
    for (const ModelParameter& parameter : parameters_) {
      INTERLUDE_RETURN_IF_ERROR(Place(parameter.spec));
    }
    Leftovers();
    INTERLUDE_RETURN_IF_ERROR(CheckComplete());
    return std::move(plan_);
  }

 private:
  // Null when the file has none; what it is of the file's tensor is told by `third`.
  const SafetensorsEntry* Find(const std::string& name, int* third = nullptr) const {
    const WeightName source = SourceOf(plan_.naming, name);
    if (third != nullptr) *third = source.third;
    for (const std::string& candidate : source.names) {
      if (const auto it = by_name_.find(candidate); it != by_name_.end()) return &file_[it->second];
    }
    return nullptr;
  }

  void DecideHead() {
    const SafetensorsEntry* const weight = Find("classifier.weight");
    const SafetensorsEntry* const bias = Find("classifier.bias");
    const bool inner_layer = std::ranges::any_of(file_, [](const SafetensorsEntry& entry) {
      return entry.name.find("pre_logits.") != std::string::npos;
    });
    const auto classes = static_cast<int64_t>(config_.classes);
    if (weight == nullptr || bias == nullptr || weight->shape.empty()) {
      plan_.why_new_head = "the file has no classifier";
    } else if (inner_layer) {
      plan_.why_new_head = "the file's classifier needs its pre_logits, which the model lacks";
    } else if (weight->shape[0] != classes) {
      plan_.why_new_head =
          fmt::format("the file tells {} classes apart, the model {}", weight->shape[0], classes);
    } else if (config_.new_head) {
      plan_.why_new_head = "model.new_head";
    }
  }

  Status Place(const ParameterSpec& ours) {
    plan_.tensors.emplace_back();
    if (IsHead(ours.name) && !plan_.why_new_head.empty()) return OkStatus();
    int third = -1;
    const SafetensorsEntry* const theirs = Find(ours.name, &third);
    if (theirs == nullptr) {
      missing_.push_back(SourceOf(plan_.naming, ours.name).names.at(0));
      return OkStatus();
    }
    if (!IsSafetensorsFloat(theirs->dtype)) {
      return InvalidArgumentError("tensor {} is {}; F32, F16 and BF16 are read", theirs->name,
                                  theirs->dtype);
    }
    PlannedTensor& planned = plan_.tensors.back();
    planned.source = static_cast<size_t>(theirs - file_.data());
    used_.insert(planned.source);
    Shape expected = ours.shape;
    if (third >= 0) expected[0] *= 3;
    if (theirs->shape == expected) {
      planned.kind = Kind::kMatched;
      if (third > 0) planned.first = static_cast<uint64_t>(third) * ValuesOf(ours.shape);
      return OkStatus();
    }
    if (ours.name == kPositions && PlanResize(theirs->shape, ours.shape, planned)) {
      return OkStatus();
    }
    return InvalidArgumentError(
        "tensor {} has shape {}, the model's is {}: give the model the sizes of the file "
        "(interlude "
        "model inspect shows them)",
        theirs->name, ShapeText(theirs->shape), ShapeText(expected));
  }

  // A class token's position and a square of the patches', in both.
  static bool PlanResize(const Shape& from, const Shape& to, PlannedTensor& planned) {
    if (from.size() != 3 || from[0] != 1 || from[2] != to[2]) return false;
    const auto side_of = [](int64_t tokens) {
      const auto side = static_cast<int64_t>(std::sqrt(static_cast<double>(tokens - 1)) + 0.5);
      return tokens > 1 && side * side == tokens - 1 ? static_cast<uint32_t>(side) : 0;
    };
    planned.kind = Kind::kResized;
    planned.from_side = side_of(from[1]);
    planned.to_side = side_of(to[1]);
    return planned.from_side > 0 && planned.to_side > 0;
  }

  void Leftovers() {
    for (size_t i = 0; i < file_.size(); ++i) {
      if (used_.contains(i)) continue;
      plan_.ignored.push_back(i);
      if (!IsHarmless(file_[i].name)) no_place_.push_back(file_[i].name);
    }
  }

  Status CheckComplete() const {
    if (config_.allow_missing) return OkStatus();
    if (!missing_.empty()) {
      return InvalidArgumentError(
          "{} of the model's {} tensors are not there: {}; model.allow_missing = true makes them "
          "anew",
          missing_.size(), parameters_.size(), NamesText(missing_));
    }
    if (!no_place_.empty()) {
      return InvalidArgumentError(
          "it holds {} tensors that this model has no place for, so it is another model or one "
          "with "
          "more layers: {}; model.allow_missing = true leaves them out",
          no_place_.size(), NamesText(no_place_));
    }
    return OkStatus();
  }

  const ModelConfig& config_;
  const std::vector<ModelParameter>& parameters_;
  const std::span<const SafetensorsEntry> file_;
  std::map<std::string_view, size_t> by_name_;
  WeightPlan plan_;
  std::set<size_t> used_;
  std::vector<std::string> missing_;
  std::vector<std::string> no_place_;
};

}  // namespace

StatusOr<WeightPlan> PlanWeights(const ModelConfig& config,
                                 const std::vector<ModelParameter>& parameters,
                                 std::span<const SafetensorsEntry> file) {
  return Planner(config, parameters, file).Plan();
}

std::vector<std::string> DescribePlan(const WeightPlan& plan,
                                      const std::vector<ModelParameter>& parameters,
                                      std::span<const SafetensorsEntry> file) {
  size_t matched = 0;
  uint64_t values = 0;
  std::vector<std::string> lines, made, ignored;
  std::set<std::string> types;
  std::string resized;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const ParameterSpec& ours = parameters[i].spec;
    const PlannedTensor& planned = plan.tensors[i];
    if (planned.kind != Kind::kNew) types.insert(file[planned.source].dtype);
    if (planned.kind == Kind::kMatched) {
      ++matched;
      values += ValuesOf(ours.shape);
    } else if (planned.kind == Kind::kResized) {
      resized = fmt::format("resized: {} from {} x {} to {} x {} patches (bicubic)", ours.name,
                            planned.from_side, planned.from_side, planned.to_side, planned.to_side);
    } else {
      made.push_back(ours.name);
    }
  }
  for (const size_t index : plan.ignored) ignored.push_back(file[index].name);
  lines.push_back(
      fmt::format("names of {}, values in {}", NamingName(plan.naming), fmt::join(types, " and ")));
  lines.push_back(
      fmt::format("matched: {} of {} tensors, {} parameters", matched, parameters.size(), values));
  if (!resized.empty()) lines.push_back(resized);
  if (!made.empty()) {
    const std::string why =
        plan.why_new_head.empty() ? "" : fmt::format(" (classifier: {})", plan.why_new_head);
    lines.push_back(fmt::format("newly made: {}: {}{}", made.size(), NamesText(made), why));
  }
  if (!ignored.empty()) {
    lines.push_back(fmt::format("ignored: {} of the file's {} tensors: {}", ignored.size(),
                                file.size(), NamesText(ignored)));
  }
  return lines;
}

}  // namespace interlude
