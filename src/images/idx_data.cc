#include <algorithm>
#include <filesystem>

#include "images/idx_file.h"
#include "images/layouts.h"

namespace interlude {

namespace {

StatusOr<std::string> FindFile(const std::string& directory, const std::string& name,
                               const IdxNames& names) {
  for (const char* suffix : {".gz", ""}) {
    std::string path = fmt::format("{}/{}{}", directory, name, suffix);
    std::error_code ignored;  // an unreadable path counts as absent and is named below
    if (std::filesystem::exists(path, ignored)) return path;
  }
  return NotFoundError("{}: no {}.gz in {} (data.directory); {}", names.title, name, directory,
                       names.help);
}

StatusOr<DataPart> LoadPart(const std::string& directory, const std::string& prefix,
                            const IdxNames& names) {
  INTERLUDE_ASSIGN_OR_RETURN(const std::string image_path,
                             FindFile(directory, prefix + "-images-idx3-ubyte", names));
  INTERLUDE_ASSIGN_OR_RETURN(const std::string label_path,
                             FindFile(directory, prefix + "-labels-idx1-ubyte", names));
  INTERLUDE_ASSIGN_OR_RETURN(IdxFile images, ReadIdxFile(image_path, 3));
  INTERLUDE_ASSIGN_OR_RETURN(const IdxFile labels, ReadIdxFile(label_path, 1));
  if (images.dimensions[0] != labels.dimensions[0]) {
    return DataLossError("{} holds {} images, {} holds {} labels; install the data set again",
                         image_path, images.dimensions[0], label_path, labels.dimensions[0]);
  }
  if (images.bytes.empty()) return DataLossError("{}: no images", image_path);
  const size_t classes = names.classes.size();
  const auto bad =
      std::ranges::find_if(labels.bytes, [&](uint8_t label) { return label >= classes; });
  if (bad != labels.bytes.end()) {
    return DataLossError("{}: label {} at sample {}; labels go from 0 to {}", label_path, *bad,
                         bad - labels.bytes.begin(), classes - 1);
  }
  return DataPart{.labels = {labels.bytes.begin(), labels.bytes.end()},
                  .pixels = {.channels = 1,
                             .height = images.dimensions[1],
                             .width = images.dimensions[2],
                             .bytes = std::move(images.bytes)}};
}

}  // namespace

StatusOr<DataSet> LoadIdxData(const DataConfig& config, const IdxNames& names) {
  DataSet set{.classes = names.classes, .statistics = names.statistics};
  INTERLUDE_ASSIGN_OR_RETURN(set.train, LoadPart(config.directory, "train", names));
  INTERLUDE_ASSIGN_OR_RETURN(set.test, LoadPart(config.directory, "t10k", names));
  const PixelArray& train = set.train.pixels;
  const PixelArray& test = set.test.pixels;
  if (train.height != test.height || train.width != test.width) {
    return DataLossError("{}: training images are {} x {}, test images {} x {}", config.directory,
                         train.height, train.width, test.height, test.width);
  }
  return set;
}

}  // namespace interlude
