// interlude keys: what a run on several machines needs so that only they take part in it.
#include <fmt/format.h>

#include <memory>

#include "base/host_name.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/key_files.h"
#include "cli/key_making.h"

namespace interlude {
namespace {

constexpr int64_t kDay = 24 * 3600;
/// Machines' clocks differ.
constexpr int64_t kEarlier = 3600;

struct InitOptions {
  KeyPlan plan;
  int days = 825;
};

int Init(InitOptions options) {
  KeyPlan& plan = options.plan;
  plan.validity = {SecondsSinceEpoch() - kEarlier, SecondsSinceEpoch() + options.days * kDay};
  const Status made = MakeKeys(plan);
  if (!made.ok()) return Fail(made, ExitCodeFor(made));
  const std::string host = plan.hosts.empty() ? HostName("HOST") : plan.hosts.front();
  fmt::print("{}", FormatKeyGuide(plan, host));
  return kExitOk;
}

int Show(const std::string& directory) {
  const auto text = DescribeKeys(directory, SecondsSinceEpoch());
  if (!text.ok()) return Fail(text.status(), ExitCodeFor(text.status()));
  fmt::print("{}", *text);
  return kExitOk;
}

void AddInit(CLI::App& keys, Action& chosen) {
  auto options = std::make_shared<InitOptions>();
  CLI::App* command = keys.add_subcommand("init", "Make a private CA, certificates and tokens");
  command->add_option("DIR", options->plan.directory, "Made when absent; must be empty")
      ->required();
  command
      ->add_option("--workers", options->plan.workers,
                   "Certificates for workers 0 to N-1, which coordinator "
                   "--require-worker-certificates asks for")
      ->type_name("N")
      ->check(CLI::Range(0, 1024).description(""));
  command
      ->add_option("--name", options->plan.hosts,
                   "A host name or IP address under which workers reach the coordinator; may be "
                   "repeated")
      ->type_name("HOST")
      ->expected(1, -1);
  command->add_option("--days", options->days, "How long all of it is valid")
      ->type_name("D")
      ->check(CLI::Range(1, 36500).description(""))
      ->capture_default_str();
  command->footer(
      "Example:\n  interlude keys init keys --workers 4 --name coordinator.example --name "
      "10.0.0.5");
  command->callback([options, &chosen] { chosen = [options] { return Init(*options); }; });
}

void AddShow(CLI::App& keys, Action& chosen) {
  auto directory = std::make_shared<std::string>();
  CLI::App* command =
      keys.add_subcommand("show", "Names, validity and fingerprints of a directory; no secrets");
  command->add_option("DIR", *directory)->required();
  command->callback([directory, &chosen] { chosen = [directory] { return Show(*directory); }; });
}

}  // namespace

void AddKeysCommand(CLI::App& app, Action& chosen) {
  CLI::App* keys =
      app.add_subcommand("keys", "Make or show what coordinator and workers trust each other by");
  keys->require_subcommand(1);
  AddInit(*keys, chosen);
  AddShow(*keys, chosen);
}

}  // namespace interlude
