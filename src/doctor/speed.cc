#include "doctor/speed.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <span>
#include <vector>

#include "base/memory_account.h"
#include "base/thread_pool.h"
#include "codec/chunk_codec.h"
#include "store/file.h"

namespace interlude {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr size_t kChunkParams = size_t{1} << 18;
constexpr size_t kDiskPieceBytes = size_t{4} << 20;

double Seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

/// The mean time of passes, after one that does not count: when a quota or others hold the machine
/// up that counts, as it will in a run.
double MeanSeconds(std::chrono::nanoseconds within, const std::function<void()>& pass) {
  pass();
  const auto begin = SteadyClock::now();
  int passes = 0;
  std::chrono::nanoseconds elapsed{0};
  do {
    pass();
    ++passes;
    elapsed = SteadyClock::now() - begin;
  } while (elapsed < within);
  return Seconds(elapsed) / passes;
}

/// What a worker's codec works on, a chunk a task.
class CodecArrays {
 public:
  /// All of it is touched.
  CodecArrays(int threads, size_t params)
      : pool_(threads),
        parameters_(Buffer::Floats("doctor", params)),
        base_(Buffer::Floats("doctor", params)),
        payload_("doctor", EncodedBytes(Codec::kQ4, params)) {
    size_t i = 0;
    for (float& parameter : parameters_.floats()) parameter = static_cast<float>(i++ % 251) * 1e-4f;
    std::memset(base_.bytes().data(), 0, base_.size());
  }

  void Encode() {
    ForEachChunk([](std::span<float> parameters, std::span<float> base, std::span<std::byte> out) {
      Hash128 hash;
      EncodeDelta(Codec::kQ4, parameters, base, {}, out, hash);
    });
  }
  void Apply() {
    ForEachChunk([](std::span<float> parameters, std::span<float> base, std::span<std::byte> in) {
      ApplyAndHash(Codec::kQ4, in, base, parameters);
    });
  }
  void Copy() {
    ForEachChunk([](std::span<float> parameters, std::span<float> base, std::span<std::byte>) {
      std::memcpy(base.data(), parameters.data(), parameters.size_bytes());
    });
  }

 private:
  template <typename Body>
  void ForEachChunk(const Body& body) {
    const size_t params = parameters_.floats().size();
    pool_.ParallelFor(params, kChunkParams, [&](size_t begin, size_t end) {
      const size_t count = end - begin;
      body(parameters_.floats().subspan(begin, count), base_.floats().subspan(begin, count),
           payload_.bytes().subspan(EncodedBytes(Codec::kQ4, begin),
                                    EncodedBytes(Codec::kQ4, count)));
    });
  }

  ThreadPool pool_;
  Buffer parameters_;
  Buffer base_;
  Buffer payload_;
};

/// Opened so that nothing is left, however the process ends.
StatusOr<FileDescriptor> OpenNameless(const std::string& directory) {
  const int file = ::open(directory.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  if (file >= 0) return FileDescriptor(file);
  if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)
    return ErrnoError(errno, "cannot write in " + directory);
  std::string path = directory + "/.interlude-doctor-XXXXXX";
  const int named = ::mkostemp(path.data(), O_CLOEXEC);
  if (named < 0) return ErrnoError(errno, "cannot write in " + directory);
  ::unlink(path.c_str());
  return FileDescriptor(named);
}

}  // namespace

CodecSpeed MeasureCodec(int threads, size_t params, std::chrono::nanoseconds within) {
  CodecArrays arrays(threads, params);
  const auto count = static_cast<double>(params);
  CodecSpeed speed{.threads = threads};
  speed.encode_params_per_s = count / MeanSeconds(within / 3, [&] { arrays.Encode(); });
  speed.apply_params_per_s = count / MeanSeconds(within / 3, [&] { arrays.Apply(); });
  speed.copy_bytes_per_s =
      2 * sizeof(float) * count / MeanSeconds(within / 3, [&] { arrays.Copy(); });
  return speed;
}

StatusOr<double> MeasureDisk(const std::string& directory, size_t most_bytes,
                             std::chrono::nanoseconds within) {
  INTERLUDE_ASSIGN_OR_RETURN(const FileDescriptor file, OpenNameless(directory));
  const std::vector<std::byte> piece(kDiskPieceBytes, std::byte{0x5a});
  const auto begin = SteadyClock::now();
  size_t written = 0;
  do {
    INTERLUDE_RETURN_IF_ERROR(WriteFully(file, piece, directory));
    if (::fdatasync(file.get()) != 0)
      return ErrnoError(errno, "cannot sync a file in " + directory);
    written += piece.size();
  } while (written + piece.size() <= most_bytes && SteadyClock::now() - begin < within);
  return static_cast<double>(written) / Seconds(SteadyClock::now() - begin);
}

}  // namespace interlude
