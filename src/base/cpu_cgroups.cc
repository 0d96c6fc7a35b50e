#include "base/cpu_cgroups.h"

#include <fstream>

namespace interlude {
namespace {

struct Membership {
  bool v2 = false;
  std::string path;  // "/a/b" below the hierarchy's mount
};

/// The process's place in the cpu hierarchies, from "ID:CONTROLLERS:PATH" lines.
std::vector<Membership> ReadMemberships(const std::string& root) {
  std::vector<Membership> memberships;
  std::ifstream in(root + "/proc/self/cgroup");
  std::string line;
  while (std::getline(in, line)) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) {
      memberships.push_back({true, path});
    } else if (("," + controllers + ",").find(",cpu,") != std::string::npos) {
      memberships.push_back({false, path});
    }
  }
  return memberships;
}

/// Where cpu hierarchies are commonly mounted; a container sees its own group at the mount itself.
std::vector<std::string> Mounts(bool v2) {
  if (v2) return {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
  return {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/cpuacct,cpu"};
}

void AddWithAncestors(const std::string& mount, const Membership& membership,
                      std::vector<CpuCgroup>& groups) {
  std::string path = membership.path;
  for (;;) {
    while (!path.empty() && path.back() == '/') path.pop_back();
    groups.push_back({membership.v2, mount + path});
    if (path.empty()) return;
    path.resize(path.find_last_of('/') == std::string::npos ? 0 : path.find_last_of('/'));
  }
}

}  // namespace

std::vector<CpuCgroup> FindCpuCgroups(const std::string& root) {
  std::vector<CpuCgroup> groups;
  for (const Membership& membership : ReadMemberships(root)) {
    for (const std::string& mount : Mounts(membership.v2)) {
      AddWithAncestors(root + mount, membership, groups);
    }
  }
  return groups;
}

}  // namespace interlude
