// `interlude model`: the models that have a name, and what a file of weights would fill.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <memory>

#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/run_options.h"
#include "config/model_presets.h"
#include "model/model_parameters.h"
#include "model/pretrained.h"
#include "report/table.h"
#include "store/safetensors_set.h"

namespace interlude {
namespace {

struct InspectOptions {
  std::string path;
  ConfigOptions config;  // path empty: the model that the file itself tells
  bool all = false;
};

StatusOr<uint64_t> CountParameters(const ModelConfig& model) {
  RunConfig config;
  config.model = model;
  INTERLUDE_ASSIGN_OR_RETURN(const Layout layout, ModelLayout(config));
  return layout.total_params();
}

int List() {
  fmt::print("{:<9} {:>6} {:>6} {:>5} {:>5} {:>5} {:>12}\n", "preset", "hidden", "layers", "heads",
             "mlp", "patch", "parameters");
  for (const std::string& name : AllPresets()) {
    ModelConfig model;
    ApplyPreset(name, model);
    model.classes = 1000;
    const auto parameters = CountParameters(model);
    if (!parameters.ok()) return Fail(parameters.status(), kExitFailed);
    fmt::print("{:<9} {:>6} {:>6} {:>5} {:>5} {:>5} {:>12}\n", name, model.hidden_size,
               model.layers, model.heads, model.mlp_size, model.patch_size, *parameters);
  }
  fmt::print(
      "\nParameters with images of 224 x 224 pixels in 3 colors and 1000 classes. In a run's TOML "
      "file:\n[model]\npreset = \"vit_s16\"\nclasses = 37\n");
  return kExitOk;
}

/// "blocks.3.norm1.weight" as "blocks.*.norm1.weight".
std::string WithoutNumbers(const std::string& name) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::string shown;
  for (size_t i = 0; i < name.size();) {
    size_t end = i;
    while (end < name.size() && is_digit(name[end])) ++end;
    const bool is_number = end > i && i > 0 && (name[i - 1] == '.' || name[i - 1] == '_') &&
                           end < name.size() && name[end] == '.';
    shown += is_number ? '*' : name[i];
    i = is_number ? end : i + 1;
  }
  return shown;
}

/// The tensors, a line each; those that differ only by their layer's number share one unless `all`.
void PrintTensors(const SafetensorsSet& files, bool all) {
  std::map<std::string, size_t> lines;  // how often
  std::vector<std::string> order;
  for (const SafetensorsSet::Tensor& tensor : files.tensors()) {
    const std::string name = Printable(tensor.entry.name);
    const std::string line = fmt::format("{}  {}  [{}]", all ? name : WithoutNumbers(name),
                                         tensor.entry.dtype, fmt::join(tensor.entry.shape, ", "));
    if (++lines[line] == 1) order.push_back(line);
  }
  for (const std::string& line : order) {
    fmt::print("  {}{}\n", line, lines[line] > 1 ? fmt::format("  x {}", lines[line]) : "");
  }
}

void PrintSummary(const SafetensorsSet& files) {
  std::map<std::string, uint64_t> values;  // by type
  uint64_t total = 0;
  for (const SafetensorsSet::Tensor& tensor : files.tensors()) {
    values[tensor.entry.dtype] += tensor.count;
    total += tensor.count;
  }
  std::vector<std::string> types;
  for (const auto& [dtype, count] : values) types.push_back(fmt::format("{} {}", count, dtype));
  fmt::print("{}: {} tensors in {} file{}, {} values ({})\n", files.path(), files.tensors().size(),
             files.num_files(), files.num_files() == 1 ? "" : "s", total, fmt::join(types, ", "));
}

void PrintModel(const ModelConfig& model) {
  fmt::print(
      "model{}: hidden_size {}, layers {}, heads {}, mlp_size {}, patch_size {}, image_size {}, "
      "channels {}, classes {}, layer_norm_epsilon {}\n",
      model.preset.empty() ? "" : " " + model.preset, model.hidden_size, model.layers, model.heads,
      model.mlp_size, model.patch_size, model.image_size, model.channels, model.classes,
      model.layer_norm_epsilon);
}

/// Sizes, from the file or the run's configuration; then what becomes of every tensor.
Status PrintPlan(const InspectOptions& options, const SafetensorsSet& files) {
  INTERLUDE_ASSIGN_OR_RETURN(ModelConfig model, ModelOf(files));
  fmt::print("\nby the file, ");
  PrintModel(model);
  if (!options.config.path.empty()) {
    INTERLUDE_ASSIGN_OR_RETURN(const RunConfig config, LoadRunConfig(options.config));
    model = config.model;
    model.pretrained = options.path;
    fmt::print("by {}, ", options.config.path);
    PrintModel(model);
  }
  INTERLUDE_ASSIGN_OR_RETURN(std::vector<ModelParameter> parameters, ModelParameters(model));
  INTERLUDE_ASSIGN_OR_RETURN(const PretrainedWeights weights,
                             PretrainedWeights::Open(model, std::move(parameters)));
  fmt::print("\na run of this model would take:\n");
  for (const std::string& line : weights.Report()) fmt::print("  {}\n", line);
  return OkStatus();
}

int Inspect(const InspectOptions& options) {
  if (options.config.path.empty() && !options.config.settings.empty()) {
    return Fail(InvalidArgumentError("--set changes a run's configuration; give it with --config"),
                kExitUsage);
  }
  const auto files = SafetensorsSet::Open(options.path);
  if (!files.ok()) return Fail(files.status(), ExitCodeFor(files.status()));
  PrintSummary(*files);
  PrintTensors(*files, options.all);
  std::fflush(stdout);
  const Status status = PrintPlan(options, *files);
  return status.ok() ? kExitOk : Fail(status, ExitCodeFor(status));
}

}  // namespace

void AddModelCommand(CLI::App& app, Action& chosen) {
  CLI::App* model = app.add_subcommand("model", "The models that have a name; what a file holds");
  model->require_subcommand(1);
  model->add_subcommand("list", "Print the presets of model.preset with their sizes")
      ->callback([&chosen] { chosen = [] { return List(); }; });
  auto options = std::make_shared<InspectOptions>();
  CLI::App* inspect = model->add_subcommand(
      "inspect", "Print the tensors of a safetensors file and what a run would take of them");
  inspect
      ->add_option("FILE", options->path, "A safetensors file, a directory or an index of shards")
      ->required();
  inspect
      ->add_option("--config", options->config.path,
                   "The run's TOML file; without it the model is what the file's shapes say")
      ->type_name("RUN.toml");
  AddSettingsOption(*inspect, options->config.settings);
  inspect->add_flag("--all", options->all, "Print the tensors of every layer");
  inspect->callback([options, &chosen] { chosen = [options] { return Inspect(*options); }; });
}

}  // namespace interlude
