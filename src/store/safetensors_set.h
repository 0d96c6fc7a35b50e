// The tensors of a model on disk, in one safetensors file or in several that an index names. Reads
// headers when opened and values when asked. Immutable after Open; any thread may read.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "store/safetensors.h"

namespace interlude {

/// What an index (model.safetensors.index.json) says: the file of each tensor.
using SafetensorsIndex = std::map<std::string, std::string>;

/// Reads an index. DataLoss for what is no such JSON object, and for a file that is no plain name:
/// shards lie beside the index.
StatusOr<SafetensorsIndex> ReadSafetensorsIndex(const std::string& path);

class SafetensorsSet {
 public:
  struct Tensor {
    SafetensorsEntry entry;
    uint64_t count = 0;  // values
    size_t file = 0;
  };

  /// `path` is a safetensors file, an index (its name ends in .json), or a directory: in it
  /// model.safetensors, else model.safetensors.index.json, else the only *.safetensors. NotFound
  /// when there is none; DataLoss for a damaged file, and for a tensor that is not where the index
  /// says. Tensors of a shard that the index does not name are left out.
  static StatusOr<SafetensorsSet> Open(const std::string& path);

  /// In the order of their names.
  const std::vector<Tensor>& tensors() const { return tensors_; }
  /// Null when there is none.
  const Tensor* Find(std::string_view name) const;
  /// The file or index that was opened.
  const std::string& path() const { return path_; }
  size_t num_files() const { return files_.size(); }

  /// As ReadSafetensorsFloats.
  Status Read(const Tensor& tensor, uint64_t first, std::span<float> out) const;

 private:
  struct File {
    std::string path;
    SafetensorsHeader header;
  };

  Status TakeFile(const std::string& path);
  Status TakeIndex(const std::string& path);
  void Keep(const SafetensorsEntry& entry, size_t file);

  std::string path_;
  std::vector<File> files_;
  std::vector<Tensor> tensors_;
};

}  // namespace interlude
