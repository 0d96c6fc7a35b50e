// Writes the sample run to the run database named on the command line.
#include <cstdio>

#include "ledger/sample_run.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: record_sample_run PATH\n");
    return 2;
  }
  auto database = interlude::RunDatabase::Create(argv[1]);
  const interlude::Status status =
      database.ok() ? interlude::WriteSampleRun(**database) : database.status();
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}
