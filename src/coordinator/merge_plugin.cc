#include "coordinator/merge_plugin.h"

#include <dlfcn.h>

#include <exception>
#include <filesystem>

#include "base/check.h"
#include "base/hash_file.h"
#include "codec/float_environment.h"
#include "interlude/merge_plugin.h"

namespace interlude {
namespace {

constexpr char kEntry[] = "interlude_merge_plugin_v1";

/// Runs one function of the library.
template <typename Call>
Status Run(const std::string& description, std::string_view what, const Call& call) {
  const DefaultFloatEnvironment environment;
  try {
    const char* error = call();
    if (error == nullptr) return OkStatus();
    return InternalError("the merge plug-in {} failed {}: {}", description, what, error);
  } catch (const std::exception& exception) {
    return InternalError("the merge plug-in {} threw {}: {}; it must return an error text",
                         description, what, exception.what());
  } catch (...) {
    return InternalError("the merge plug-in {} threw {}; it must return an error text", description,
                         what);
  }
}

std::string Place(const interlude_merge_chunk& chunk) {
  return fmt::format("in round {}, chunk {}", chunk.round, chunk.chunk);
}

}  // namespace

StatusOr<std::shared_ptr<const MergePlugin>> MergePlugin::Load(const std::string& path,
                                                               const std::string& config) {
  std::shared_ptr<MergePlugin> plugin(new MergePlugin(path, config));
  const auto hash = HashFile(path);
  if (!hash.ok()) return hash.status().WithContext("outer.plugin");
  plugin->hash_ = *hash;
  INTERLUDE_RETURN_IF_ERROR(plugin->Open(path));
  INTERLUDE_RETURN_IF_ERROR(plugin->CheckDeclaration());
  plugin->name_ = plugin->functions_->name;
  plugin->description_ = fmt::format("{} ({})", plugin->name_, path);
  if (plugin->functions_->check_config != nullptr) {
    const Status fits = Run(plugin->description_, "to take outer.plugin_config",
                            [&] { return plugin->functions_->check_config(config.c_str()); });
    if (!fits.ok()) return InvalidArgumentError("{}", fits.message());
  }
  return std::shared_ptr<const MergePlugin>(std::move(plugin));
}

MergePlugin::MergePlugin(const std::string& path, const std::string& config)
    : config_(config), description_(path) {}

MergePlugin::~MergePlugin() {
  if (library_ != nullptr) ::dlclose(library_);
}

Status MergePlugin::Open(const std::string& path) {
  // Absolute, since a bare name would be looked for in the system's libraries.
  const std::string file = std::filesystem::absolute(path).string();
  library_ = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) {
    return InvalidArgumentError(
        "outer.plugin: {} cannot be loaded ({}): build it as a shared library for this machine",
        path, ::dlerror());
  }
  using Entry = const interlude_merge_plugin* (*)();
  const auto entry = reinterpret_cast<Entry>(::dlsym(library_, kEntry));
  if (entry == nullptr) {
    return InvalidArgumentError(
        "outer.plugin: {} has no function {}: include interlude/merge_plugin.h and define it "
        "(in C++ the header makes it extern \"C\")",
        path, kEntry);
  }
  functions_ = entry();
  if (functions_ == nullptr) {
    return InvalidArgumentError("outer.plugin: {} of {} returns no plug-in", kEntry, path);
  }
  return OkStatus();
}

Status MergePlugin::CheckDeclaration() const {
  const auto refuse = [&](const std::string& why) {
    return InvalidArgumentError("outer.plugin: {} {}", description_, why);
  };
  if (functions_->abi != INTERLUDE_MERGE_PLUGIN_ABI) {
    return refuse(fmt::format(
        "is built for version {} of the plug-in interface, this program has version {}: build it "
        "again with this program's interlude/merge_plugin.h",
        functions_->abi, INTERLUDE_MERGE_PLUGIN_ABI));
  }
  if (functions_->name == nullptr || *functions_->name == '\0') return refuse("has no name");
  if (functions_->merge == nullptr && functions_->outer_step == nullptr) {
    return refuse("has neither a merge nor an outer_step");
  }
  if (functions_->state_per_param > INTERLUDE_MERGE_PLUGIN_MAX_STATE) {
    return refuse(fmt::format("wants {} values of state a parameter; at most {} are possible",
                              functions_->state_per_param, INTERLUDE_MERGE_PLUGIN_MAX_STATE));
  }
  if (functions_->state_per_param > 0 && functions_->outer_step == nullptr) {
    return refuse("wants state but has no outer_step, which alone gets it");
  }
  return OkStatus();
}

bool MergePlugin::merges() const { return functions_->merge != nullptr; }
bool MergePlugin::steps() const { return functions_->outer_step != nullptr; }
size_t MergePlugin::state_per_param() const { return functions_->state_per_param; }

Status MergePlugin::Merge(interlude_merge_chunk chunk, const interlude_merge_deltas& deltas,
                          std::span<float> merged) const {
  INTERLUDE_CHECK(merged.size() == chunk.count, "{} values, {} merged", chunk.count, merged.size());
  chunk.config = config_.c_str();
  return Run(description_, Place(chunk),
             [&] { return functions_->merge(&chunk, &deltas, merged.data()); });
}

Status MergePlugin::OuterStep(interlude_merge_chunk chunk, std::span<const float> merged,
                              std::span<const float> base, std::span<float> state,
                              std::span<float> update) const {
  INTERLUDE_CHECK(merged.size() == chunk.count && base.size() == chunk.count &&
                      update.size() == chunk.count &&
                      state.size() == chunk.count * state_per_param(),
                  "{} values: {} merged, {} of base, {} of state, {} updates", chunk.count,
                  merged.size(), base.size(), state.size(), update.size());
  chunk.config = config_.c_str();
  return Run(description_, Place(chunk), [&] {
    return functions_->outer_step(&chunk, merged.data(), base.data(), state.data(), update.data());
  });
}

}  // namespace interlude
