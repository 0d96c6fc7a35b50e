// The picture files that a person names: one by one, as folders, or as a list from elsewhere. Opens
// no picture. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace interlude {

struct PictureFiles {
  std::vector<std::string> files;
  /// Reasons, each beginning with a path: folders that cannot be listed or have no pictures.
  std::vector<std::string> unreadable;
};

/// A path that is no folder stands for itself, whatever its name and whether or not it is there. A
/// folder stands for the pictures in it and below (HasPictureEnding, hidden files and folders
/// passed over, links to folders not followed), in the order of their paths' bytes.
void AddPictureFiles(const std::string& path, PictureFiles& list);

/// The paths in a text: between zero bytes where it has any, else a line each; empty ones are
/// passed over.
std::vector<std::string> SplitPaths(std::string_view text);

}  // namespace interlude
