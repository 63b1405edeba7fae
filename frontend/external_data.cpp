#include "frontend/external_data.h"

#include "frontend/quote.h"
#include "ir/error.h"

#include "llvm/ADT/SmallVector.h"

#include <cstdlib>

#include <sys/stat.h>

namespace engine::frontend {

namespace {

// All links followed; empty if there is no such file.
std::string realPathOf(const std::string &path) {
  char *resolved = ::realpath(path.c_str(), nullptr);
  if (!resolved)
    return {};
  std::string result = resolved;
  std::free(resolved);
  return result;
}

// Faults that the text alone shows, before the file system is asked. Empty if there is none.
std::string faultOfText(llvm::StringRef location) {
  if (location.empty())
    return "is empty";
  if (location.contains('\0'))
    return "contains a NUL character";
  if (location.contains('\\'))
    return "contains a backslash";
  if (location.front() == '/')
    return "is an absolute path";

  llvm::SmallVector<llvm::StringRef, 8> parts;
  location.split(parts, '/', -1, /*KeepEmpty=*/false);
  int depth = 0;
  bool names = false;
  for (llvm::StringRef part : parts) {
    if (part == ".")
      continue;
    names = true;
    depth += part == ".." ? -1 : 1;
    if (depth < 0)
      return "leads outside the model's folder";
  }
  return names && depth > 0 ? "" : "names no file";
}

} // namespace

std::string folderOf(const std::string &path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos)
    return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string fileNameOf(const std::string &path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

DataFolder DataFolder::besideModel(const std::string &modelPath) {
  DataFolder folder(folderOf(modelPath));
  const std::string target = realPathOf(modelPath);
  if (!target.empty())
    folder.roots_.push_back(folderOf(target));
  return folder;
}

DataFolder::DataFolder(std::string folder) : folder_(std::move(folder)) {
  if (folder_.empty())
    return;
  const std::string root = realPathOf(folder_);
  if (!root.empty())
    roots_.push_back(root);
}

bool DataFolder::contains(const std::string &realPath) const {
  for (const std::string &root : roots_) {
    const std::string prefix = root == "/" ? root : root + "/";
    if (realPath.starts_with(prefix))
      return true;
  }
  return false;
}

// Beside the path as given first, then beside what it links to.
std::string DataFolder::resolve(llvm::StringRef location) const {
  std::string found = realPathOf(folder_ + "/" + location.str());
  for (size_t i = 0; i < roots_.size() && found.empty(); ++i)
    found = realPathOf(roots_[i] + "/" + location.str());
  return found;
}

std::shared_ptr<const MappedFile> DataFolder::open(llvm::StringRef location) {
  const auto known = files_.find(location);
  if (known != files_.end())
    return known->second;

  const std::string subject = "external data location " + quoted(location) + " ";
  const std::string fault = faultOfText(location);
  if (!fault.empty())
    throw Error(subject + fault + "; a path relative to the model's folder was expected");
  if (folder_.empty())
    throw Error(subject + "cannot be found: the model was loaded from memory without a folder");

  const std::string target = resolve(location);
  if (target.empty())
    throw Error(subject + "names no file in the model's folder " + quoted(folder_));
  if (!contains(target))
    throw Error(subject + "is a link that leaves the model's folder " + quoted(folder_));

  std::shared_ptr<const MappedFile> &file = files_["/" + target];
  if (!file) {
    try {
      file = MappedFile::open(target);
    } catch (const Error &e) {
      throw Error(subject + e.what());
    }
  }
  files_[location] = file;
  return file;
}

} // namespace engine::frontend
