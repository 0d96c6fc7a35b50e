// interlude bench: how fast the exchange and its parts are on this machine. One file for each thing
// that can be measured.
#include "cli/bench_commands.h"
#include "cli/commands.h"

namespace interlude {

void AddBenchCommand(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand(
      "bench", "How fast the codec and the whole exchange are on this machine, and their memory");
  command->require_subcommand(1);
  AddBenchCodecCommand(*command, chosen);
  AddBenchExchangeCommand(*command, chosen);
  command->footer("interlude bench WHAT --help explains each.");
}

}  // namespace interlude
