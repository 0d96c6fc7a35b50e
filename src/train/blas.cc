#include "train/blas.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/log.h"

namespace interlude {

namespace {

constexpr const char* kCoreTypeVariable = "OPENBLAS_CORETYPE";
// Set before re-executing, so that a library that ignores the setting cannot make a loop of it.
constexpr const char* kGuardVariable = "INTERLUDE_BLAS_CHOSEN";

// x86-64 kernels of OpenBLAS that use nothing newer than AVX.
constexpr std::array<std::string_view, 19> kKernelsBeforeAvx2 = {
    "athlon",     "atom",       "banias",     "barcelona", "bobcat",     "bulldozer", "core2",
    "coppermine", "dunnington", "generic",    "katmai",    "nano",       "nehalem",   "northwood",
    "opteron",    "penryn",     "piledriver", "prescott",  "sandybridge"};

template <typename Function>
Function FindSymbol(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

bool HasAvx2() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  return false;
#endif
}

bool HasAvx512() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
#else
  return false;
#endif
}

}  // namespace

std::optional<std::string> OpenBlasCoreName() {
  const auto core_name = FindSymbol<const char* (*)()>("openblas_get_corename");
  if (core_name == nullptr) return std::nullopt;
  return core_name();
}

std::optional<std::string> BetterCoreType(std::string_view core_name, bool has_avx2,
                                          bool has_avx512) {
  std::string lower(core_name);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  if (std::ranges::find(kKernelsBeforeAvx2, lower) == kKernelsBeforeAvx2.end()) return std::nullopt;
  if (has_avx512) return "SKYLAKEX";
  if (has_avx2) return "HASWELL";
  return std::nullopt;
}

void EnsureFastBlas(char** argv) {
  if (getenv(kCoreTypeVariable) != nullptr || getenv(kGuardVariable) != nullptr) return;
  const std::optional<std::string> core_name = OpenBlasCoreName();
  if (!core_name) return;
  const std::optional<std::string> better = BetterCoreType(*core_name, HasAvx2(), HasAvx512());
  if (!better) return;
  LogInfo("OpenBLAS does not know this CPU and chose its kernel \"{}\"; starting again with {}={}",
          *core_name, kCoreTypeVariable, *better);
  setenv(kCoreTypeVariable, better->c_str(), 1);
  setenv(kGuardVariable, better->c_str(), 1);
  execv("/proc/self/exe", argv);
  LogWarning("could not start again ({}); matrix products will be slow. Set {}={} before starting",
             std::strerror(errno), kCoreTypeVariable, *better);
}

std::string BlasLine() {
  const std::optional<std::string> core_name = OpenBlasCoreName();
  if (!core_name) return "blas=other";
  const char* const setting = getenv(kCoreTypeVariable);
  const char* const set_by = setting == nullptr                  ? "library"
                             : getenv(kGuardVariable) != nullptr ? "interlude-worker"
                                                                 : "environment";
  std::string line = fmt::format("blas=openblas kernel={} set_by={}", *core_name, set_by);
  if (setting != nullptr) line += fmt::format(" setting={}", setting);
  if (const auto better = BetterCoreType(*core_name, HasAvx2(), HasAvx512()))
    line += fmt::format(" better={}", *better);
  return line;
}

void SetBlasThreads(int threads) {
  const auto set_threads = FindSymbol<void (*)(int)>("openblas_set_num_threads");
  if (set_threads != nullptr) set_threads(std::max(1, threads));
}

}  // namespace interlude
