// Where `interlude bench exchange` runs, and whether the machine has room for it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "config/run_config.h"

namespace interlude {

/// A directory of runs that goes away with the object, unless it is to be kept. Move only.
class BenchDirectory {
 public:
  /// `path`, made when absent; a new one among the system's temporary files when it is empty.
  static StatusOr<BenchDirectory> Create(const std::string& path, bool keep);
  ~BenchDirectory();
  BenchDirectory(BenchDirectory&& other) noexcept;
  BenchDirectory& operator=(BenchDirectory&&) = delete;

  const std::string& path() const { return path_; }
  /// A new directory in it. AlreadyExists when there is one of the name.
  StatusOr<std::string> MakeRun(const std::string& name) const;
  void RemoveRun(const std::string& name) const;

 private:
  BenchDirectory(std::string path, bool made, bool keep);

  std::string path_;
  bool made_ = false;  // by this object, so nothing else is in it
  bool keep_ = false;
};

/// InvalidArgument, with what is needed, what there is and a size that would fit, when one of the
/// runs, which follow each other, needs more memory than is available.
Status CheckMemory(const std::vector<RunConfig>& runs, uint32_t workers);

/// The same for the disk; `keep`: the runs' files add up.
Status CheckDisk(const std::string& directory, const std::vector<RunConfig>& runs, uint32_t workers,
                 bool keep);

}  // namespace interlude
