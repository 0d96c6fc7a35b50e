#include <filesystem>

#include "images/class_list.h"
#include "images/label_list.h"
#include "images/layouts.h"
#include "images/text_file.h"

namespace interlude {
namespace {

constexpr size_t kMostListBytes = size_t{1} << 30;

DataPart PartOf(const std::vector<ListedPicture>& list, const std::string& directory,
                const std::unordered_map<std::string_view, uint32_t>& numbers) {
  DataPart part;
  for (const ListedPicture& picture : list) {
    part.labels.push_back(numbers.at(picture.label));
    part.files.push_back(picture.path.starts_with('/')
                             ? picture.path
                             : fmt::format("{}/{}", directory, picture.path));
  }
  return part;
}

Status CheckLabels(const std::vector<ListedPicture>& list, const std::string& path,
                   const std::unordered_map<std::string_view, uint32_t>& numbers) {
  for (const ListedPicture& picture : list) {
    if (numbers.contains(picture.label)) continue;
    return InvalidArgumentError("{}:{}: label \"{}\" is none of the {} names in {}", path,
                                picture.line, picture.label, numbers.size(), kClassListName);
  }
  return OkStatus();
}

}  // namespace

StatusOr<DataSet> ListCsv(const DataConfig& config) {
  const std::string train_path = fmt::format("{}/{}", config.directory, config.train_csv);
  const std::string test_path = fmt::format("{}/{}", config.directory, config.test_csv);
  const auto train_text = ReadTextFile(train_path, kMostListBytes);
  if (!train_text.ok()) {
    return train_text.status().WithContext("the list of data.directory and data.train_csv");
  }
  INTERLUDE_ASSIGN_OR_RETURN(const auto train, ParseCsvList(*train_text, train_path));
  std::vector<ListedPicture> test;
  std::error_code error;
  const bool has_test = std::filesystem::exists(test_path, error);
  if (error) return ErrnoError(error.value(), "looking at " + test_path);
  if (has_test) {
    INTERLUDE_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(test_path, kMostListBytes));
    INTERLUDE_ASSIGN_OR_RETURN(test, ParseCsvList(text, test_path));
  }
  DataSet set{.statistics = kImageNetStatistics};
  INTERLUDE_ASSIGN_OR_RETURN(auto class_list, ReadClassList(config.directory));
  if (class_list) {
    set.classes = *std::move(class_list);
  } else {
    INTERLUDE_ASSIGN_OR_RETURN(set.classes, ClassesOf({&train, &test}));
  }
  const auto numbers = NumbersOf(set.classes);
  INTERLUDE_RETURN_IF_ERROR(CheckLabels(train, train_path, numbers));
  INTERLUDE_RETURN_IF_ERROR(CheckLabels(test, test_path, numbers));
  DataPart listed = PartOf(train, config.directory, numbers);
  if (has_test) {
    set.train = std::move(listed);
    set.test = PartOf(test, config.directory, numbers);
  } else {
    SetTestPartAside(config.test_share, std::move(listed), set);
  }
  return set;
}

}  // namespace interlude
