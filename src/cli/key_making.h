// Making a keys directory: a private CA, certificates, tokens. And what it holds, for people.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "cli/certificate.h"

namespace interlude {

struct KeyPlan {
  std::string directory;
  int workers = 0;  // that get certificates
  /// Names and IP addresses under which workers reach the coordinator, besides localhost and this
  /// machine's name.
  std::vector<std::string> hosts;
  Validity validity;
};

/// Makes the directory, for its owner only, and all its files. AlreadyExists when there is anything
/// in it: keys are never overwritten. After another error what was made is left there.
Status MakeKeys(const KeyPlan& plan);

/// Which files go to which machine, and the commands to start there. `host` is where workers reach
/// the coordinator.
std::string FormatKeyGuide(const KeyPlan& plan, const std::string& host);

/// Each certificate's name, hosts, days and fingerprint, and a digest of each token: nothing
/// secret. NotFound when there is no certificate.
StatusOr<std::string> DescribeKeys(const std::string& directory, int64_t now);

}  // namespace interlude
