#include "images/pictures.h"

#include <algorithm>
#include <cstring>

#include "base/log.h"

namespace interlude {
namespace {

constexpr uint64_t kSlabBytes = uint64_t{16} << 20;

/// Whether the file is to blame, so that it fails whenever it is read. All else, such as no memory
/// or no descriptor, comes and goes: a stand-in then would make the result depend on the moment.
bool IsBadFile(const Status& status) {
  const StatusCode code = status.code();
  return code == StatusCode::kDataLoss || code == StatusCode::kNotFound ||
         code == StatusCode::kPermissionDenied || code == StatusCode::kOutOfRange;
}

}  // namespace

PictureCache::PictureCache(uint64_t samples, CacheLimits limits)
    : budget_(limits.bytes),
      may_grow_(std::move(limits.may_grow)),
      pictures_(budget_ == 0 ? 0 : samples) {}

PictureView PictureCache::Find(uint64_t sample) const {
  if (budget_ == 0) return {};
  const MutexLock lock(mutex_);
  return pictures_[sample];
}

void PictureCache::Keep(uint64_t sample, const PictureView& picture) {
  if (budget_ == 0) return;
  const MutexLock lock(mutex_);
  if (pictures_[sample].data != nullptr) return;
  const uint64_t size = picture.size();
  if (room_ < size) {
    if (size > budget_ - used_) return;
    const uint64_t slab = std::max(size, std::min(kSlabBytes, budget_ - used_));
    if (may_grow_ && !may_grow_(slab)) return;
    slabs_.emplace_back("decoded pictures", slab);
    used_ += slab;
    room_ = slab;
  }
  const std::span<std::byte> slab = slabs_.back().bytes();
  auto* const data = reinterpret_cast<uint8_t*>(slab.data() + slab.size() - room_);
  std::memcpy(data, picture.data, size);
  room_ -= size;
  pictures_[sample] = {picture.width, picture.height, picture.channels, data};
}

Pictures::Pictures(const DataPart& part, DecodeFunction decode, CacheLimits cache)
    : part_(part),
      decode_(std::move(decode)),
      cache_(part.size(), part.files.empty() ? CacheLimits{} : std::move(cache)) {}

StatusOr<ReadPicture> Pictures::Read(uint64_t sample, Picture& scratch) const {
  ReadPicture read{.sample = sample};
  if (in_memory()) {
    read.view = part_.pixels.image(sample);
    return read;
  }
  while (true) {
    read.view = cache_.Find(read.sample);
    if (read.view.data != nullptr) return read;
    const Status status = decode_(part_.files[read.sample], scratch);
    if (status.ok()) break;
    if (!IsBadFile(status)) return status;
    read.bad.push_back({read.sample, status.message()});
    if (read.bad.size() >= std::min(kMostInARow, size())) {
      return DataLossError("{} pictures one after the other cannot be read, the last: {}",
                           read.bad.size(), status.message());
    }
    read.sample = (read.sample + 1) % size();
  }
  read.decoded = true;
  read.view = scratch.view();
  cache_.Keep(read.sample, read.view);
  return read;
}

BadPictures::BadPictures(uint64_t samples, double share)
    : samples_(samples),
      share_(share),
      allowed_(static_cast<uint64_t>(share * static_cast<double>(samples))) {}

Status BadPictures::Add(std::span<const BadPicture> bad) {
  for (const BadPicture& picture : bad) {
    const auto place = std::ranges::lower_bound(seen_, picture.sample, {}, &BadPicture::sample);
    if (place != seen_.end() && place->sample == picture.sample) continue;
    LogWarning("{}; the next picture of the list stands in", picture.reason);
    seen_.insert(place, picture);
  }
  if (seen_.size() <= allowed_) return OkStatus();
  constexpr size_t kNamed = 5;
  std::string names;
  for (size_t i = 0; i < std::min(kNamed, seen_.size()); ++i) {
    names += fmt::format("{}{}", i == 0 ? "" : "; ", seen_[i].reason);
  }
  return DataLossError(
      "{} of {} pictures cannot be read, data.bad_share = {} allows {}: {}{}. Mend or remove them, "
      "or raise data.bad_share",
      seen_.size(), samples_, share_, allowed_, names, seen_.size() > kNamed ? "; ..." : "");
}

}  // namespace interlude
