#include "base/address.h"

#include <arpa/inet.h>

#include <string>

#include "base/parse_number.h"

namespace interlude {

bool IsLoopbackHost(std::string_view host) {
  if (host == "localhost") return true;
  if (host.starts_with('[') && host.ends_with(']')) {
    in6_addr v6{};
    const std::string text(host.substr(1, host.size() - 2));
    return inet_pton(AF_INET6, text.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
  }
  in_addr v4{};
  return inet_pton(AF_INET, std::string(host).c_str(), &v4) == 1 && ntohl(v4.s_addr) >> 24 == 127;
}

std::string_view HostOf(std::string_view address) {
  if (address.ends_with(']')) return address;  // the last colon is inside the brackets
  return address.substr(0, address.rfind(':'));
}

bool IsLoopback(std::string_view address) {
  return address.starts_with("unix:") || IsLoopbackHost(HostOf(address));
}

std::optional<uint16_t> PortOf(std::string_view address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string_view::npos || address.starts_with("unix:")) return std::nullopt;
  return ParseNumber<uint16_t>(address.substr(colon + 1));
}

}  // namespace interlude
