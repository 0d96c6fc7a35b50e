// `interlude journal verify`: makes the committed rounds of a run again and compares every hash.
#include <fmt/format.h>

#include <memory>

#include "base/clock.h"
#include "base/cpu_quota.h"
#include "cli/app.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "coordinator/verify_run.h"

namespace interlude {
namespace {

int Verify(const std::string& directory) {
  const auto verified = VerifyRun(directory, ReadCpuLimits().UsableCores(), SystemClock());
  if (!verified.ok()) return Fail(verified.status(), kExitFailed);
  fmt::print(
      "run {}: rounds {} to {} made again from the snapshot after round {} ({} merges), every hash "
      "as recorded\nroot after round {}: {}\n",
      verified->run_id, verified->snapshot_round + 1, verified->committed_rounds,
      verified->snapshot_round, verified->merges, verified->committed_rounds,
      verified->root.ToHex());
  return kExitOk;
}

}  // namespace

void AddJournalCommand(CLI::App& app, Action& chosen) {
  auto directory = std::make_shared<std::string>();
  CLI::App* journal = app.add_subcommand("journal", "What a run keeps to survive a crash");
  journal->require_subcommand(1);
  CLI::App* verify = journal->add_subcommand(
      "verify", "Make the committed rounds of a run again, and compare every hash");
  verify->add_option("DIR", *directory, "The run's directory; no coordinator may work in it")
      ->required();
  verify->callback([directory, &chosen] { chosen = [directory] { return Verify(*directory); }; });
}

}  // namespace interlude
