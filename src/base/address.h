// What an address says about who can reach it. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace interlude {

/// Whether HOST:PORT can be reached from its own machine only: 127.0.0.0/8, [::1], localhost, or a
/// unix: socket. Any other name counts as reachable by others, wherever it leads.
bool IsLoopback(std::string_view address);

/// The same of a HOST without a port (IPv6 in brackets), where unix: is no host.
bool IsLoopbackHost(std::string_view host);

/// The HOST of HOST:PORT or of HOST alone, as a request's Host field has it; IPv6 keeps its
/// brackets.
std::string_view HostOf(std::string_view address);

/// The port of HOST:PORT; nothing where the address has none.
std::optional<uint16_t> PortOf(std::string_view address);

}  // namespace interlude
