#include "base/kept_proc_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

#include "base/proc_text.h"

namespace interlude {
namespace {

constexpr int64_t kUsesAbsent = 60;

thread_local KeptProcFiles* in_use = nullptr;

}  // namespace

KeptProcFiles::Use::Use(KeptProcFiles& files)
    : files_(files), outer_(std::exchange(in_use, &files)) {
  ++files_.use_;
}

KeptProcFiles::Use::~Use() {
  files_.CloseUnused();
  in_use = outer_;
}

KeptProcFiles* KeptProcFiles::InUse() { return in_use; }

KeptProcFiles::~KeptProcFiles() {
  ++use_;
  CloseUnused();
}

void KeptProcFiles::CloseUnused() {
  std::erase_if(files_, [&](const auto& entry) {
    const File& file = entry.second;
    if (file.read_in == use_) return false;
    if (file.descriptor >= 0) ::close(file.descriptor);
    return true;
  });
}

std::optional<std::string> KeptProcFiles::Read(const std::string& path) {
  File& file = files_[path];
  file.read_in = use_;
  if (file.descriptor >= 0) {
    if (auto text = ReadOpenFile(file.descriptor)) return text;
    ::close(std::exchange(file.descriptor, -1));  // what it told of is gone; there may be another
  } else if (file.opened_in > 0 && use_ - file.opened_in < kUsesAbsent) {
    return std::nullopt;
  }
  file.opened_in = use_;
  file.descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  return file.descriptor < 0 ? std::nullopt : ReadOpenFile(file.descriptor);
}

}  // namespace interlude
