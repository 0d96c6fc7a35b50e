// What an address says about who can reach it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace interlude {

/// Whether HOST:PORT can be reached from its own machine only: 127.0.0.0/8, [::1], localhost, or a
/// unix: socket. Any other name counts as reachable by others, wherever it leads.
bool IsLoopback(std::string_view address);

/// The port of HOST:PORT; nothing where the address has none.
std::optional<uint16_t> PortOf(std::string_view address);

}  // namespace interlude
