#include <filesystem>

#include "images/layouts.h"
#include "images/text_file.h"

namespace interlude {
namespace {

constexpr uint32_t kSide = 32;
constexpr size_t kPlane = size_t{kSide} * kSide;
constexpr size_t kMostBytes = size_t{1} << 30;

// Of the 50,000 training images.
constexpr PixelStatistics kCifar10Statistics = {{0.4914f, 0.4822f, 0.4465f},
                                                {0.2470f, 0.2435f, 0.2616f}};
constexpr PixelStatistics kCifar100Statistics = {{0.5071f, 0.4865f, 0.4409f},
                                                 {0.2673f, 0.2564f, 0.2762f}};

/// How a record begins: CIFAR-100 has the label of a group of classes before that of the class.
struct Kind {
  std::string title;
  std::string folder;
  size_t label_bytes = 1;
  uint32_t classes = 10;
  std::vector<std::string> train_files;
  std::string test_file;
  std::string names_file;
};

Kind Cifar10() {
  return {"CIFAR-10",
          "cifar-10-batches-bin",
          1,
          10,
          {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
           "data_batch_5.bin"},
          "test_batch.bin",
          "batches.meta.txt"};
}

Kind Cifar100() {
  return {"CIFAR-100", "cifar-100-binary",    2, 100, {"train.bin"},
          "test.bin",  "fine_label_names.txt"};
}

Status AppendFile(const std::string& path, const Kind& kind, DataPart& part) {
  INTERLUDE_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, kMostBytes));
  const size_t record = kind.label_bytes + 3 * kPlane;
  if (text.empty() || text.size() % record != 0) {
    return DataLossError("{}: {} bytes are no multiple of a record's {}; fetch the file again",
                         path, text.size(), record);
  }
  for (size_t at = 0; at < text.size(); at += record) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(text.data()) + at;
    const uint32_t label = bytes[kind.label_bytes - 1];
    if (label >= kind.classes) {
      return DataLossError("{}: label {} at sample {}; labels go from 0 to {}", path, label,
                           at / record, kind.classes - 1);
    }
    part.labels.push_back(label);
    // A plane for each color on disk, the colors of a pixel side by side in memory.
    for (size_t pixel = 0; pixel < kPlane; ++pixel) {
      for (size_t color = 0; color < 3; ++color) {
        part.pixels.bytes.push_back(bytes[kind.label_bytes + color * kPlane + pixel]);
      }
    }
  }
  return OkStatus();
}

StatusOr<DataPart> LoadPart(const std::string& folder, const std::vector<std::string>& files,
                            const Kind& kind) {
  DataPart part;
  part.pixels = {.channels = 3, .height = kSide, .width = kSide};
  for (const std::string& file : files) {
    INTERLUDE_RETURN_IF_ERROR(AppendFile(fmt::format("{}/{}", folder, file), kind, part));
  }
  return part;
}

/// The lines of the list of names; numbers where there is no such list.
std::vector<std::string> ClassNames(const std::string& folder, const Kind& kind) {
  std::vector<std::string> names;
  const auto text = ReadTextFile(fmt::format("{}/{}", folder, kind.names_file), 1u << 16);
  if (text.ok()) {
    for (size_t at = 0; at < text->size();) {
      const size_t end = std::min(text->find('\n', at), text->size());
      std::string line = text->substr(at, end - at);
      while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
      if (!line.empty()) names.push_back(std::move(line));
      at = end + 1;
    }
  }
  if (names.size() == kind.classes) return names;
  names.clear();
  for (uint32_t i = 0; i < kind.classes; ++i) names.push_back(fmt::format("{}", i));
  return names;
}

}  // namespace

StatusOr<DataSet> LoadCifarData(const DataConfig& config) {
  const Kind kind = config.name == "cifar10" ? Cifar10() : Cifar100();
  std::string folder = config.directory;
  std::error_code ignored;  // what cannot be looked at is named when it is read
  if (std::filesystem::exists(fmt::format("{}/{}", folder, kind.folder), ignored)) {
    folder += "/" + kind.folder;
  }
  if (!std::filesystem::exists(fmt::format("{}/{}", folder, kind.test_file), ignored)) {
    return NotFoundError(
        "{}: no {} in {} (data.directory); unpack the binary version of the data set there",
        kind.title, kind.test_file, folder);
  }
  DataSet set{.classes = ClassNames(folder, kind),
              .statistics = kind.classes == 10 ? kCifar10Statistics : kCifar100Statistics};
  INTERLUDE_ASSIGN_OR_RETURN(set.train, LoadPart(folder, kind.train_files, kind));
  INTERLUDE_ASSIGN_OR_RETURN(set.test, LoadPart(folder, {kind.test_file}, kind));
  return set;
}

}  // namespace interlude
