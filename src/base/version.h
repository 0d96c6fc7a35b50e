// The program's version, as workers and run.db state it.
#pragma once

namespace interlude {

inline constexpr char kSoftwareVersion[] = "interlude 0.1.0";

}  // namespace interlude
