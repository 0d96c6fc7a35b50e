// Options and output that all benchmarks have in common.
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <memory>

#include "bench/exchange_figures.h"
#include "cli/bench_commands.h"

namespace interlude {

CLI::Option* AddParamsOption(CLI::App& app, uint64_t& params, const std::string& help) {
  const CLI::Validator count(
      [](std::string& text) {
        const auto parsed = ParseCount(text);
        if (!parsed.ok()) return std::string(parsed.status().message());
        text = std::to_string(*parsed);
        return std::string();
      },
      "");
  return app.add_option("--params", params, help)->type_name("N")->transform(count);
}

void AddJsonOption(CLI::App& app, std::string& path) {
  app.add_option("--json", path, "Also write all figures as JSON; - for stdout")->type_name("FILE");
}

void PrintBenchText(const std::string& text, const std::string& json_path) {
  std::FILE* const out = json_path == "-" ? stderr : stdout;
  fmt::print(out, "{}", text);
  std::fflush(out);
}

Status WriteBenchJson(const std::string& json, const std::string& json_path) {
  if (json_path.empty()) return OkStatus();
  const bool to_stdout = json_path == "-";
  std::FILE* const out = to_stdout ? stdout : std::fopen(json_path.c_str(), "wb");
  if (out == nullptr) return ErrnoError(errno, "cannot write " + json_path);
  bool written = std::fwrite(json.data(), 1, json.size(), out) == json.size();
  written = std::fflush(out) == 0 && written;
  const int error_number = errno;
  if (!to_stdout) written = std::fclose(out) == 0 && written;
  if (!written) return ErrnoError(error_number, "cannot write " + json_path);
  return OkStatus();
}

}  // namespace interlude
