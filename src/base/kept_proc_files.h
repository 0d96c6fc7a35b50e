// Files of the kernel's that are read every second stay open: reading one then costs a third. One
// thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

namespace interlude {

class KeptProcFiles {
 public:
  KeptProcFiles() = default;
  ~KeptProcFiles();
  KeptProcFiles(const KeptProcFiles&) = delete;
  KeptProcFiles& operator=(const KeptProcFiles&) = delete;

  /// While it lives, ReadProcText on this thread reads through the kept files. At its end those
  /// that were not read meanwhile are closed: of threads and cgroups that are gone.
  class Use {
   public:
    explicit Use(KeptProcFiles& files);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    KeptProcFiles& files_;
    KeptProcFiles* const outer_;
  };

  /// Those in use on this thread, or null.
  static KeptProcFiles* InUse();

  /// All of the file; nothing where it is absent or may not be read, which is believed for the next
  /// 60 uses.
  std::optional<std::string> Read(const std::string& path);

 private:
  struct File {
    int descriptor = -1;    // -1: absent
    int64_t opened_in = 0;  // the use in which this was last tried
    int64_t read_in = 0;
  };
  void CloseUnused();

  std::unordered_map<std::string, File> files_;
  int64_t use_ = 0;
};

}  // namespace interlude
