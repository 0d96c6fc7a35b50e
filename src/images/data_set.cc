#include "images/data_set.h"

#include <map>
#include <span>

#include "base/log.h"
#include "base/rng.h"
#include "images/layouts.h"

namespace interlude {
namespace {

// Of the 60,000 images; a model may see gray as three equal colors.
constexpr PixelStatistics kFashionStatistics = {{0.2860f, 0.2860f, 0.2860f},
                                                {0.3530f, 0.3530f, 0.3530f}};
constexpr PixelStatistics kMnistStatistics = {{0.1307f, 0.1307f, 0.1307f},
                                              {0.3081f, 0.3081f, 0.3081f}};

void KeepFirst(DataPart& part, uint64_t limit) {
  if (limit == 0 || limit >= part.size()) return;
  part.labels.resize(limit);
  part.labels.shrink_to_fit();
  if (part.files.size() > limit) part.files.resize(limit);
  if (!part.pixels.bytes.empty()) {
    part.pixels.bytes.resize(limit * part.pixels.image_bytes());
    part.pixels.bytes.shrink_to_fit();
  }
}

StatusOr<DataSet> LoadWhole(const DataConfig& config) {
  if (config.name == "fashion_mnist") {
    return LoadIdxData(config, {.title = "Fashion-MNIST",
                                .help = "install it with: apt-get install dataset-fashion-mnist",
                                .classes = {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
                                            "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"},
                                .statistics = kFashionStatistics});
  }
  if (config.name == "mnist") {
    return LoadIdxData(config, {.title = "MNIST",
                                .help = "its four files belong there",
                                .classes = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"},
                                .statistics = kMnistStatistics});
  }
  if (config.name == "cifar10" || config.name == "cifar100") return LoadCifarData(config);
  if (config.name == "pets") return ListPets(config);
  if (config.name == "folder") return ListFolders(config);
  if (config.name == "csv") return ListCsv(config);
  return InvalidArgumentError(
      "data.name = \"{}\" is not known; known: \"fashion_mnist\", \"mnist\", \"cifar10\", "
      "\"cifar100\", \"pets\", \"folder\", \"csv\"",
      config.name);
}

/// A class that is never seen in training is hardly meant: it is only ever told wrong.
void WarnOfUnseenClasses(const DataSet& set) {
  const std::vector<uint64_t> seen = CountByClass(set.train, set.classes.size());
  constexpr size_t kNamed = 5;
  size_t count = 0;
  std::string names;
  for (size_t i = 0; i < seen.size(); ++i) {
    if (seen[i] > 0 || ++count > kNamed) continue;
    names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", set.classes[i]);
  }
  if (count == 0) return;
  LogWarning("{} of {} classes have no training picture: {}{}", count, seen.size(), names,
             count > kNamed ? ", ..." : "");
}

}  // namespace

std::vector<uint64_t> CountByClass(const DataPart& part, size_t classes) {
  std::vector<uint64_t> counts(classes);
  for (const uint32_t label : part.labels) ++counts[label];
  return counts;
}

bool HasPictureFiles(std::string_view data_name) {
  return data_name == "pets" || data_name == "folder" || data_name == "csv";
}

StatusOr<DataSet> LoadDataSet(const DataConfig& config) {
  INTERLUDE_ASSIGN_OR_RETURN(DataSet set, LoadWhole(config));
  if (set.train.size() == 0 || set.test.size() == 0) {
    return InvalidArgumentError("{}: no pictures in the {} set (data.name = \"{}\")",
                                config.directory, set.train.size() == 0 ? "training" : "test",
                                config.name);
  }
  KeepFirst(set.train, config.train_limit);
  KeepFirst(set.test, config.test_limit);
  WarnOfUnseenClasses(set);
  return set;
}

void SetTestPartAside(double share, DataPart all, DataSet& set) {
  std::map<uint32_t, std::vector<size_t>> by_class;
  for (size_t i = 0; i < all.size(); ++i) by_class[all.labels[i]].push_back(i);
  std::vector<bool> aside(all.size());
  for (auto& [label, samples] : by_class) {
    if (samples.size() < 2) continue;
    Rng rng(Mix64(label ^ Mix64(samples.size())));
    rng.Shuffle(std::span<size_t>(samples));
    const auto wanted = static_cast<size_t>(share * static_cast<double>(samples.size()) + 0.5);
    const size_t count = std::min(std::max<size_t>(wanted, 1), samples.size() - 1);
    for (size_t i = 0; i < count; ++i) aside[samples[i]] = true;
  }
  for (size_t i = 0; i < all.size(); ++i) {
    DataPart& part = aside[i] ? set.test : set.train;
    part.labels.push_back(all.labels[i]);
    part.files.push_back(std::move(all.files[i]));
  }
}

}  // namespace interlude
