// A user's merge rule or outer optimizer out of a shared library
// (include/interlude/merge_plugin.h): loading it, checking that it fits, calling it. Knows floats,
// not payloads. Immutable once loaded; any thread may call, each for another chunk.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/hash128.h"
#include "base/status.h"

struct interlude_merge_plugin;
struct interlude_merge_chunk;
struct interlude_merge_deltas;

namespace interlude {

class MergePlugin {
 public:
  /// Loads the library at `path` and has it check `config`. Errors name the path and what to do:
  /// NotFound (or another of the file's) when it cannot be read, InvalidArgument when it is no
  /// library that can be loaded, lacks the function, is built for another ABI, declares what makes
  /// no sense, or refuses `config`. Loading runs the library's code.
  static StatusOr<std::shared_ptr<const MergePlugin>> Load(const std::string& path,
                                                           const std::string& config);
  ~MergePlugin();
  MergePlugin(const MergePlugin&) = delete;
  MergePlugin& operator=(const MergePlugin&) = delete;

  const std::string& name() const { return name_; }
  /// XXH3-128 of the file.
  const Hash128& hash() const { return hash_; }
  /// "NAME (PATH)", for messages.
  const std::string& description() const { return description_; }

  bool merges() const;
  bool steps() const;
  /// Of the outer step; 0 without one.
  size_t state_per_param() const;

  /// Both set chunk.config, call the library in the default floating-point environment, and turn
  /// its error text (or an exception) into an InternalError. Only where merges() or steps() says
  /// so.
  Status Merge(interlude_merge_chunk chunk, const interlude_merge_deltas& deltas,
               std::span<float> merged) const;
  Status OuterStep(interlude_merge_chunk chunk, std::span<const float> merged,
                   std::span<const float> base, std::span<float> state,
                   std::span<float> update) const;

 private:
  MergePlugin(const std::string& path, const std::string& config);
  Status Open(const std::string& path);
  Status CheckDeclaration() const;

  const std::string config_;
  std::string name_;
  std::string description_;
  Hash128 hash_;
  void* library_ = nullptr;
  const interlude_merge_plugin* functions_ = nullptr;
};

}  // namespace interlude
