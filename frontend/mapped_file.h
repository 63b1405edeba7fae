// A file in memory without reading it: mapped, read-only, for as long as somebody holds it.
#pragma once

#include "llvm/ADT/ArrayRef.h"

#include <memory>
#include <string>

namespace engine::frontend {

class MappedFile {
public:
  // Throws Error (without a location) if `path` is no regular file or cannot be read. An empty file
  // maps to no bytes.
  static std::shared_ptr<const MappedFile> open(const std::string &path);

  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;
  ~MappedFile();

  llvm::ArrayRef<char> bytes() const { return {data_, size_}; }

private:
  MappedFile() = default;

  const char *data_ = nullptr;
  size_t size_ = 0;
};

// Pages that lie whole in `bytes` leave memory until somebody reads them again: for bytes of which
// a copy is kept. Does nothing to bytes that are not in a mapped file.
void giveBackPages(llvm::ArrayRef<char> bytes);

} // namespace engine::frontend
