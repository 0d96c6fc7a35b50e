// Runs a fuzz target once on every file of the folders named on the command line, without
// libFuzzer: what was found once stays found. A fault ends the program, as it does under the
// fuzzer.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

void RunFile(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::vector<char> chars{std::istreambuf_iterator<char>(in), {}};
  // A block of its very size, so that AddressSanitizer sees a read beyond the end.
  const std::vector<uint8_t> bytes(chars.begin(), chars.end());
  std::printf("%s, %zu bytes\n", path.filename().c_str(), bytes.size());
  std::fflush(stdout);  // so that a crash has its file's name before it
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::filesystem::path> files;
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  for (const auto& file : files) RunFile(file);
  std::printf("%zu inputs\n", files.size());
  return files.empty() ? 1 : 0;
}
