// What `interlude bench` can measure, one source file each, and what these have in common.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "cli/app.h"

namespace interlude {

void AddBenchCodecCommand(CLI::App& bench, Action& chosen);     // bench_codec_command.cc
void AddBenchExchangeCommand(CLI::App& bench, Action& chosen);  // bench_exchange_command.cc

/// --params, as ParseCount reads it.
CLI::Option* AddParamsOption(CLI::App& app, uint64_t& params, const std::string& help);
/// --json
void AddJsonOption(CLI::App& app, std::string& path);
/// Prints `text` to stdout, or to stderr when `json_path` is "-" and stdout belongs to the JSON.
void PrintBenchText(const std::string& text, const std::string& json_path);
/// Writes `json` to the file, or to stdout for "-"; nothing for an empty path.
Status WriteBenchJson(const std::string& json, const std::string& json_path);

}  // namespace interlude
