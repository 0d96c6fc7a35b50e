// The BLAS library behind LibTorch: which kernel it chose, whether a better one fits this CPU, how
// many threads it takes. Debian 12's OpenBLAS does not know recent CPUs and falls back to a kernel
// of 2004, which costs four fifths of the speed without a word. Names no torch type.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace interlude {

/// The kernel that the loaded OpenBLAS uses ("Prescott", "SkylakeX"); nothing when another BLAS is
/// loaded.
std::optional<std::string> OpenBlasCoreName();

/// The value of OPENBLAS_CORETYPE that serves this CPU better than `core_name`, where OpenBLAS
/// chose a kernel for CPUs without AVX2 and this one has it. Nothing when the choice is right or
/// the name unknown. Pure.
std::optional<std::string> BetterCoreType(std::string_view core_name, bool has_avx2,
                                          bool has_avx512);

/// Where OpenBLAS chose badly, re-executes this program with the same arguments and
/// OPENBLAS_CORETYPE set (the variable is read only as the library loads), and says so once. Leaves
/// a setting by the user alone, re-executes at most once, and returns where there is nothing to do
/// or the re-execution fails (with a warning). Must be the first thing in main, before threads,
/// files or sockets exist.
void EnsureFastBlas(char** argv);

/// What was chosen, for `interlude doctor`: words KEY=VALUE, of which blas is always there. Without
/// OpenBLAS: "blas=other". With it: "blas=openblas kernel=SkylakeX set_by=interlude-worker
/// setting=SKYLAKEX"; set_by is library, environment or interlude-worker, and better=HASWELL
/// follows where another kernel serves this CPU better.
std::string BlasLine();

/// Caps OpenBLAS's own threads, which know nothing of LibTorch's. No effect with another BLAS.
void SetBlasThreads(int threads);

}  // namespace interlude
