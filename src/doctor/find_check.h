// For tests: the check of a name.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "doctor/check.h"

namespace interlude {

inline Check Find(const Checks& checks, const std::string& name) {
  for (const Check& check : checks) {
    if (check.name == name) return check;
  }
  ADD_FAILURE() << "no check " << name;
  return {};
}

/// A value of a check; a failure when it is not there.
inline double ValueOf(const Check& check, const std::string& name) {
  for (const auto& [key, value] : check.values) {
    if (key == name) return value;
  }
  ADD_FAILURE() << "no value " << name << " of " << check.name;
  return 0;
}

}  // namespace interlude
