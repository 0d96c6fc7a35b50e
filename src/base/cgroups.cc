#include "base/cgroups.h"

#include "base/proc_text.h"

namespace interlude {
namespace {

struct Membership {
  bool v2 = false;
  std::string path;  // "/a/b" below the hierarchy's mount
};

/// Whether a comma-separated list has the word.
bool Lists(std::string_view list, std::string_view word) {
  return ("," + std::string(list) + ",").find("," + std::string(word) + ",") != std::string::npos;
}

/// The process's place in the controller's hierarchies, from "ID:CONTROLLERS:PATH" lines.
std::vector<Membership> ReadMemberships(std::string_view controller, const std::string& root) {
  std::vector<Membership> memberships;
  const auto text = ReadProcText(root + "/proc/self/cgroup");
  std::string_view rest = text ? std::string_view(*text) : std::string_view();
  while (!rest.empty()) {
    const std::string_view line = TakeLine(rest);
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const bool v2 = controllers.empty();
    if (v2 || Lists(controllers, controller))
      memberships.push_back({v2, std::string(line.substr(second + 1))});
  }
  return memberships;
}

/// Where hierarchies are commonly mounted; a container sees its own group at the mount itself.
std::vector<std::string> Mounts(bool v2, std::string_view controller) {
  const std::string top = "/sys/fs/cgroup";
  if (v2) return {top, top + "/unified"};
  if (controller == "cpu") return {top + "/cpu", top + "/cpu,cpuacct", top + "/cpuacct,cpu"};
  return {top + "/" + std::string(controller)};
}

void AddWithAncestors(const std::string& mount, const Membership& membership,
                      std::vector<Cgroup>& groups) {
  std::string path = membership.path;
  for (;;) {
    while (!path.empty() && path.back() == '/') path.pop_back();
    groups.push_back({membership.v2, mount + path});
    if (path.empty()) return;
    path.resize(path.find_last_of('/') == std::string::npos ? 0 : path.find_last_of('/'));
  }
}

}  // namespace

std::vector<Cgroup> FindCgroups(std::string_view controller, const std::string& root) {
  std::vector<Cgroup> groups;
  for (const Membership& membership : ReadMemberships(controller, root)) {
    for (const std::string& mount : Mounts(membership.v2, controller)) {
      AddWithAncestors(root + mount, membership, groups);
    }
  }
  return groups;
}

}  // namespace interlude
