// For blas_test: a program whose "OpenBLAS" always chose badly. Prints the setting it runs with in
// the end.

#include <cstdio>
#include <cstdlib>

#include "train/blas.h"

// The program's own symbol is what dlsym finds.
extern "C" __attribute__((visibility("default"))) const char* openblas_get_corename() {
  return "Prescott";
}

int main(int argc, char** argv) {
  interlude::EnsureFastBlas(argv);
  const char* const setting = std::getenv("OPENBLAS_CORETYPE");
  std::printf("runs with %s and '%s'\n", setting == nullptr ? "nothing" : setting,
              argc > 1 ? argv[1] : "");
  return 0;
}
