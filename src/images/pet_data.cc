#include <algorithm>

#include "images/label_list.h"
#include "images/layouts.h"
#include "images/text_file.h"

namespace interlude {
namespace {

constexpr size_t kMostListBytes = size_t{64} << 20;

/// What the lists agree on: class number i + 1 is called names[i].
Status NameClasses(const std::vector<ListedPicture>& list, const std::string& path,
                   std::vector<std::string>& names) {
  for (const ListedPicture& picture : list) {
    const size_t number = std::stoul(picture.label);
    if (names.size() < number) names.resize(number);
    std::string& name = names[number - 1];
    if (name.empty()) name = picture.name;
    if (name != picture.name) {
      return InvalidArgumentError("{}:{}: class {} is {} here and {} before", path, picture.line,
                                  number, picture.name, name);
    }
  }
  return OkStatus();
}

StatusOr<std::vector<ListedPicture>> ReadList(const std::string& path,
                                              std::vector<std::string>& names) {
  const auto text = ReadTextFile(path, kMostListBytes);
  if (!text.ok()) {
    return text.status().WithContext(
        "Oxford-IIIT Pet (data.directory holds annotations/ and images/)");
  }
  INTERLUDE_ASSIGN_OR_RETURN(std::vector<ListedPicture> list, ParsePetList(*text, path));
  INTERLUDE_RETURN_IF_ERROR(NameClasses(list, path, names));
  return list;
}

DataPart PartOf(const std::vector<ListedPicture>& list, const std::string& directory) {
  DataPart part;
  for (const ListedPicture& picture : list) {
    part.labels.push_back(static_cast<uint32_t>(std::stoul(picture.label) - 1));
    part.files.push_back(fmt::format("{}/images/{}.jpg", directory, picture.path));
  }
  return part;
}

}  // namespace

StatusOr<DataSet> ListPets(const DataConfig& config) {
  DataSet set{.statistics = kImageNetStatistics};
  const std::string& directory = config.directory;
  INTERLUDE_ASSIGN_OR_RETURN(auto train,
                             ReadList(directory + "/annotations/trainval.txt", set.classes));
  INTERLUDE_ASSIGN_OR_RETURN(auto test, ReadList(directory + "/annotations/test.txt", set.classes));
  const auto unnamed = std::ranges::find(set.classes, std::string());
  if (unnamed != set.classes.end()) {
    return InvalidArgumentError("{}/annotations: no picture of class {}, but one of class {}",
                                directory, unnamed - set.classes.begin() + 1, set.classes.size());
  }
  set.train = PartOf(train, directory);
  set.test = PartOf(test, directory);
  return set;
}

}  // namespace interlude
