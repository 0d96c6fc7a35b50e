#include "cli/app.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "base/heap.h"
#include "cli/exit_codes.h"
#include "config/nearest.h"

namespace interlude {
namespace {

// The subcommand that was being parsed when parsing stopped.
const CLI::App& Innermost(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : Innermost(*chosen.front());
}

std::vector<std::string> KnownWords(const CLI::App& app) {
  std::vector<std::string> words;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;  // hidden
    for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
  }
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    words.push_back(command->get_name());
  }
  return words;
}

// " Did you mean --workers?" for the first word that nobody expected.
std::string Suggestion(const CLI::App& app) {
  const CLI::App& inner = Innermost(app);
  const std::vector<std::string> extras = app.remaining(true);
  const std::vector<std::string> words = KnownWords(inner);
  const std::vector<std::string_view> views(words.begin(), words.end());
  for (const std::string& extra : extras) {
    if (const auto nearest = NearestWord(extra.substr(0, extra.find('=')), views)) {
      return fmt::format(" Did you mean {}?", *nearest);
    }
  }
  return "";
}

std::string Reason(const CLI::App& app, const CLI::ParseError& error) {
  std::string reason = error.what();
  const std::vector<std::string> extras = app.remaining(true);
  const bool names_no_subcommand = &Innermost(app) == &app && app.get_require_subcommand_min() > 0;
  if (names_no_subcommand && !extras.empty() && !extras.front().starts_with('-')) {
    reason = fmt::format("there is no subcommand {}", extras.front());
  }
  if (!reason.ends_with('.')) reason += '.';
  return reason;
}

int ReportUsageError(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& inner = Innermost(app);
  std::string name = app.get_name();
  for (const CLI::App* at = &app; at != &inner;) {
    at = at->get_subcommands().front();
    name += " " + at->get_name();
  }
  fmt::print(stderr, "error: {}{}\nSee {} --help.\n", Reason(app, error), Suggestion(app), name);
  return kExitUsage;
}

}  // namespace

int RunApp(CLI::App& app, const Action& chosen, int argc, const char* const* argv) {
  KeepFreedMemory();
  // Our own errors say what gRPC would print above them, with lines of its source.
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help_or_version) {
    return app.exit(help_or_version);
  } catch (const CLI::ParseError& error) {
    return ReportUsageError(app, error);
  }
  return chosen();
}

int Fail(const Status& status, int exit_code) {
  fmt::print(stderr, "error: {}\n", status.message());
  return exit_code;
}

int ExitCodeFor(const Status& status) {
  switch (status.code()) {
    case StatusCode::kInvalidArgument:
    case StatusCode::kNotFound:
    case StatusCode::kAlreadyExists:
    case StatusCode::kPermissionDenied:
    case StatusCode::kOutOfRange:
      return kExitUsage;
    default:
      return kExitFailed;
  }
}

}  // namespace interlude
