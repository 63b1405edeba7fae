#include "frontend/mapped_file.h"

#include "ir/error.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace engine::frontend {

namespace {

Error systemError(const std::string &what, int code) {
  return Error(what + ": " + std::strerror(code));
}

// Closes the descriptor on every way out; the mapping outlives it.
struct Descriptor {
  int fd;
  ~Descriptor() { ::close(fd); }
};

} // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::string &path) {
  // Non-blocking: opening a named pipe must not wait for a writer.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    throw systemError("cannot be opened", errno);
  const Descriptor guard{fd};

  struct stat status;
  if (::fstat(fd, &status) != 0)
    throw systemError("cannot be examined", errno);
  if (S_ISDIR(status.st_mode))
    throw Error("is a folder, a file was expected");
  if (!S_ISREG(status.st_mode))
    throw Error("is no regular file");

  std::shared_ptr<MappedFile> file(new MappedFile);
  if (status.st_size == 0)
    return file;
  const size_t size = static_cast<size_t>(status.st_size);
  void *data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (data == MAP_FAILED)
    throw systemError("cannot be mapped", errno);
  file->data_ = static_cast<const char *>(data);
  file->size_ = size;
  return file;
}

MappedFile::~MappedFile() {
  if (data_)
    ::munmap(const_cast<char *>(data_), size_);
}

} // namespace engine::frontend
