#include "frontend/mapped_file.h"

#include "ir/error.h"

#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace engine::frontend {

namespace {

Error systemError(const std::string &what, int code) {
  return Error(what + ": " + std::strerror(code));
}

// Where files are mapped now: begin -> end.
class MappedRanges {
public:
  void add(const char *begin, size_t size) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ranges_[begin] = begin + size;
  }

  void remove(const char *begin) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ranges_.erase(begin);
  }

  void giveBack(const char *begin, const char *end) {
    const std::lock_guard<std::mutex> lock(mutex_);
    auto range = ranges_.upper_bound(begin);
    if (range == ranges_.begin() || end > (--range)->second || begin >= end)
      return;
    ::madvise(const_cast<char *>(begin), static_cast<size_t>(end - begin), MADV_DONTNEED);
  }

private:
  std::mutex mutex_;
  std::map<const char *, const char *> ranges_;
};

MappedRanges &mappedRanges() {
  static MappedRanges *ranges = new MappedRanges; // outlives models that are released at exit
  return *ranges;
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
  mappedRanges().add(file->data_, size);
  return file;
}

MappedFile::~MappedFile() {
  if (!data_)
    return;
  mappedRanges().remove(data_);
  ::munmap(const_cast<char *>(data_), size_);
}

void giveBackPages(llvm::ArrayRef<char> bytes) {
  const uintptr_t page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(bytes.begin()) + page - 1) / page * page;
  const uintptr_t end = reinterpret_cast<uintptr_t>(bytes.end()) / page * page;
  mappedRanges().giveBack(reinterpret_cast<const char *>(begin),
                          reinterpret_cast<const char *>(end));
}

} // namespace engine::frontend
