// Lists of pictures and labels as people write them: CSV, and the pets' lists.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "images/label_list.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto& list :
       {interlude::ParseCsvList(text, "fuzz"), interlude::ParsePetList(text, "fuzz")}) {
    if (!list.ok()) continue;
    const auto classes = interlude::ClassesOf({&*list});
    if (!classes.ok()) continue;
    const auto numbers = interlude::NumbersOf(*classes);
    for (const interlude::ListedPicture& picture : *list) {
      INTERLUDE_CHECK(numbers.contains(picture.label), "{} has no number", picture.label);
      INTERLUDE_CHECK(!picture.path.empty() && picture.line > 0, "a picture without a path");
    }
  }
  return 0;
}
