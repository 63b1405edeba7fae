// Files beside a model that hold its weights: found under one folder, never outside it, each mapped
// once.
#pragma once

#include "frontend/mapped_file.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace engine::frontend {

class DataFolder {
public:
  // The folder of a model file, as the path names it. If the file is a link, the folder that it
  // points into counts as the model's too: download caches keep model and data as links into one
  // folder of blobs.
  static DataFolder besideModel(const std::string &modelPath);
  // A folder given explicitly; empty: there is none, and every location is refused.
  explicit DataFolder(std::string folder);

  const std::string &path() const { return folder_; }

  // Whether a location names anything at all; open() says whether it may be read.
  bool has(llvm::StringRef location) const { return !resolve(location).empty(); }

  // The file that a location names. Throws Error (without a location) unless the location is a
  // relative path whose target, all links followed, lies inside the folder.
  std::shared_ptr<const MappedFile> open(llvm::StringRef location);

private:
  std::string resolve(llvm::StringRef location) const;
  bool contains(const std::string &realPath) const;

  std::string folder_;
  std::vector<std::string> roots_;                           // what counts as inside: real paths
  llvm::StringMap<std::shared_ptr<const MappedFile>> files_; // by location, and by real path
};

// "a/b" -> "a", "b" -> ".", "/b" -> "/".
std::string folderOf(const std::string &path);
std::string fileNameOf(const std::string &path);

} // namespace engine::frontend
