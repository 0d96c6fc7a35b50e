#include "tools/tun_link/tun_device.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace interlude {
namespace {

constexpr int kMtu = 1500;
constexpr int kQueuePackets = 2000;

Status Failed(const TunEnd& end, const char* what) {
  return UnavailableError("{}:{}: {}: {}", end.netns, end.device, what, std::strerror(errno));
}

// The process is in another network namespace while this lives.
class NamespaceVisit {
 public:
  explicit NamespaceVisit(const std::string& name)
      : home_(open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC)) {
    const int there = open(("/var/run/netns/" + name).c_str(), O_RDONLY | O_CLOEXEC);
    arrived_ = home_ >= 0 && there >= 0 && setns(there, CLONE_NEWNET) == 0;
    const int error = errno;
    if (there >= 0) close(there);
    errno = error;
  }
  ~NamespaceVisit() {
    if (arrived_ && setns(home_, CLONE_NEWNET) != 0) _exit(1);  // devices would land anywhere
    if (home_ >= 0) close(home_);
  }
  NamespaceVisit(const NamespaceVisit&) = delete;
  NamespaceVisit& operator=(const NamespaceVisit&) = delete;
  bool arrived() const { return arrived_; }

 private:
  int home_;
  bool arrived_;
};

ifreq Request(const TunEnd& end) {
  ifreq request{};
  std::strncpy(request.ifr_name, end.device.c_str(), IFNAMSIZ - 1);
  return request;
}

bool SetAddress(int control, const TunEnd& end, unsigned long which, const char* address) {
  ifreq request = Request(end);
  sockaddr_in in{};
  in.sin_family = AF_INET;
  if (inet_pton(AF_INET, address, &in.sin_addr) != 1) {
    errno = EINVAL;
    return false;
  }
  std::memcpy(&request.ifr_addr, &in, sizeof in);
  return ioctl(control, which, &request) == 0;
}

bool SetUp(int control, const TunEnd& end) {
  ifreq request = Request(end);
  request.ifr_mtu = kMtu;
  if (ioctl(control, SIOCSIFMTU, &request) != 0) return false;
  request.ifr_qlen = kQueuePackets;
  if (ioctl(control, SIOCSIFTXQLEN, &request) != 0) return false;
  if (!SetAddress(control, end, SIOCSIFADDR, end.address.c_str())) return false;
  if (!SetAddress(control, end, SIOCSIFNETMASK, "255.255.255.0")) return false;
  if (ioctl(control, SIOCGIFFLAGS, &request) != 0) return false;
  request.ifr_flags = static_cast<short>(request.ifr_flags | IFF_UP);
  return ioctl(control, SIOCSIFFLAGS, &request) == 0;
}

}  // namespace

StatusOr<TunEnd> TunEnd::Parse(const std::string& text) {
  const size_t first = text.find(':');
  const size_t second = text.find(':', first + 1);
  if (first == std::string::npos || second == std::string::npos) {
    return InvalidArgumentError("'{}': an end is NAMESPACE:DEVICE:ADDRESS", text);
  }
  TunEnd end{text.substr(0, first), text.substr(first + 1, second - first - 1),
             text.substr(second + 1)};
  if (end.device.empty() || end.device.size() >= IFNAMSIZ) {
    return InvalidArgumentError("'{}': a device's name has 1 to {} letters", text, IFNAMSIZ - 1);
  }
  return end;
}

StatusOr<int> OpenTun(const TunEnd& end) {
  const NamespaceVisit visit(end.netns);
  if (!visit.arrived()) return Failed(end, "cannot go into the namespace");
  const int device = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (device < 0) return Failed(end, "cannot open /dev/net/tun");
  ifreq request = Request(end);
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  Status status;
  if (ioctl(device, TUNSETIFF, &request) != 0) status = Failed(end, "cannot make the device");
  const int control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (status.ok() && (control < 0 || !SetUp(control, end))) {
    status = Failed(end, "cannot set the device up");
  }
  if (control >= 0) close(control);
  if (status.ok()) return device;
  close(device);
  return status;
}

}  // namespace interlude
