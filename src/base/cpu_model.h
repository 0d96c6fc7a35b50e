// What the kernel calls this machine's CPU. Any thread.
#pragma once

#include <string>

namespace interlude {

/// The "model name" of the first core in /proc/cpuinfo; empty where there is none (ARM kernels give
/// none). `root` stands before /proc, for tests.
std::string CpuModel(const std::string& root = "");

}  // namespace interlude
