#include "cli/programs.h"

#include <unistd.h>

#include <filesystem>

namespace interlude {

StatusOr<std::string> OwnProgram() {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return ErrnoError(error.value(), "cannot read /proc/self/exe to find this program");
  return path.string();
}

StatusOr<std::string> WorkerProgram(const std::string& given) {
  if (!given.empty()) {
    std::error_code error;
    const std::filesystem::path program = std::filesystem::absolute(given, error);
    if (!error && access(program.c_str(), X_OK) == 0 && !std::filesystem::is_directory(program))
      return program.string();
    return NotFoundError("{} is no program that can be run", given);
  }
  INTERLUDE_ASSIGN_OR_RETURN(const std::string own, OwnProgram());
  const std::string path = std::filesystem::path(own).replace_filename("interlude-worker").string();
  if (access(path.c_str(), X_OK) != 0) {
    return NotFoundError(
        "{} is missing: interlude-worker must stand beside interlude (build both, install both)",
        path);
  }
  return path;
}

}  // namespace interlude
