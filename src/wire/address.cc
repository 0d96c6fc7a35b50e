#include "wire/address.h"

#include <arpa/inet.h>

#include <string>

namespace interlude {

bool IsLoopback(std::string_view address) {
  if (address.starts_with("unix:")) return true;
  std::string_view host = address.substr(0, address.rfind(':'));
  if (host == "localhost") return true;
  if (host.starts_with('[') && host.ends_with(']')) {
    in6_addr v6{};
    const std::string text(host.substr(1, host.size() - 2));
    return inet_pton(AF_INET6, text.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
  }
  in_addr v4{};
  return inet_pton(AF_INET, std::string(host).c_str(), &v4) == 1 && ntohl(v4.s_addr) >> 24 == 127;
}

}  // namespace interlude
