#include "train/rank_group.h"

#include <set>

#include "config/rank_devices.h"
#include "train/rank_backends.h"

namespace interlude {
namespace {

#ifdef INTERLUDE_HAS_NCCL
// Of two ranks on one device NCCL wants to know nothing.
bool NcclFits(const RankPlace& place) {
  const std::set<std::string> different(place.devices.begin(), place.devices.end());
  return IsCudaDevice(place.device()) && different.size() == place.devices.size();
}
#endif

}  // namespace

StatusOr<std::unique_ptr<RankGroup>> CreateRankGroup(RankPlace place) {
#ifdef INTERLUDE_HAS_NCCL
  if (NcclFits(place)) return CreateNcclGroup(std::move(place));
#endif
#ifdef INTERLUDE_HAS_GLOO
  return CreateGlooGroup(std::move(place));
#else
  return UnimplementedError(
      "this interlude-worker was built without what {} devices of kind {} need to work together: "
      "CMake found {} (docs/libtorch.md says where it looks)",
      place.ranks(), IsCudaDevice(place.device()) ? "cuda" : place.device(),
      IsCudaDevice(place.device()) ? "neither NCCL nor Gloo" : "no Gloo");
#endif
}

}  // namespace interlude
