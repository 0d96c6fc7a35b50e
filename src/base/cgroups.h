// Where the cgroups of this process lie in the file system. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace interlude {

/// A directory that may hold a cgroup's files; whether it is there is not checked.
struct Cgroup {
  bool v2 = false;
  std::string directory;
};

/// The process's own cgroups that have a controller ("cpu", "memory") and their ancestors as far as
/// they are visible, in v1 and v2 hierarchies, each hierarchy's own group first and then upwards.
/// `root` stands before /proc and /sys, for tests with a made-up file tree.
std::vector<Cgroup> FindCgroups(std::string_view controller, const std::string& root = "");

}  // namespace interlude
