#include "runtime/npz.h"

#include "frontend/quote.h"
#include "ir/error.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <new>
#include <zip.h>

namespace engine {

namespace {

static_assert(std::endian::native == std::endian::little, "'<' arrays are used as they are");

constexpr llvm::StringLiteral kMagic("\x93NUMPY");
constexpr size_t kPreamble = 8;            // magic and version
constexpr size_t kMaxHeader = 1 << 16;     // numpy pads a header to some dozen bytes
constexpr size_t kMaxRank = 64;            // numpy's own limit
constexpr zip_uint64_t kMaxDeflate = 1032; // what deflate can shrink at most: more is a lie
constexpr const char *kSuffix = ".npy";

// --- The header ----------------------------------------------------------------------------------

DType dtypeOfDescr(llvm::StringRef code) {
  return llvm::StringSwitch<DType>(code)
      .Case("f2", DType::kF16)
      .Case("f4", DType::kF32)
      .Case("f8", DType::kF64)
      .Case("i1", DType::kI8)
      .Case("i2", DType::kI16)
      .Case("i4", DType::kI32)
      .Case("i8", DType::kI64)
      .Case("u1", DType::kU8)
      .Case("u2", DType::kU16)
      .Case("u4", DType::kU32)
      .Case("u8", DType::kU64)
      .Case("b1", DType::kBool)
      .Case("V2", DType::kBF16)
      .Default(DType::kUndefined);
}

const char *descrOf(DType dtype) {
  switch (dtype) {
  case DType::kF16:
    return "<f2";
  case DType::kF32:
    return "<f4";
  case DType::kF64:
    return "<f8";
  case DType::kBF16:
    return "|V2";
  case DType::kI8:
    return "|i1";
  case DType::kU8:
    return "|u1";
  case DType::kI16:
    return "<i2";
  case DType::kU16:
    return "<u2";
  case DType::kI32:
    return "<i4";
  case DType::kU32:
    return "<u4";
  case DType::kI64:
    return "<i8";
  case DType::kU64:
    return "<u8";
  case DType::kBool:
    return "|b1";
  case DType::kI4:
  case DType::kU4:
  case DType::kUndefined:
    break;
  }
  throw Error::internal("no npy element type for " + std::string(dtypeName(dtype)));
}

// The few Python literals that a header is made of.
class HeaderParser {
public:
  explicit HeaderParser(llvm::StringRef text) : rest_(text) {}

  NpyHeader parse() {
    NpyHeader header;
    bool descr = false, order = false, shape = false;
    auto once = [&](bool &seen, llvm::StringRef key) {
      if (seen)
        throw Error("its npy header has '" + key.str() + "' twice");
      seen = true;
    };
    expect('{');
    while (!take('}')) {
      const llvm::StringRef key = string();
      expect(':');
      if (key == "descr") {
        once(descr, key);
        parseDescr(header);
      } else if (key == "fortran_order") {
        once(order, key);
        header.fortranOrder = boolean();
      } else if (key == "shape") {
        once(shape, key);
        parseShape(header);
      } else {
        throw Error("its npy header has the unknown key " + frontend::quoted(key));
      }
      if (!take(',')) {
        expect('}');
        break;
      }
    }
    if (!rest_.trim(" \n").empty())
      fail("nothing behind the '}'");
    if (!descr || !order || !shape)
      throw Error("its npy header lacks one of descr, fortran_order and shape");
    return header;
  }

private:
  [[noreturn]] void fail(const char *expected) const {
    throw Error("its npy header is malformed: expected " + std::string(expected) + " at " +
                (rest_.empty() ? "its end" : frontend::quoted(rest_.take_front(16))));
  }
  bool take(char c) {
    rest_ = rest_.ltrim(' ');
    return rest_.consume_front(llvm::StringRef(&c, 1));
  }
  void expect(char c) {
    const char text[] = {'\'', c, '\'', 0};
    if (!take(c))
      fail(text);
  }
  llvm::StringRef string() {
    rest_ = rest_.ltrim(' ');
    const char quote = rest_.empty() ? 0 : rest_.front();
    const size_t end = quote == '\'' || quote == '"' ? rest_.find(quote, 1) : llvm::StringRef::npos;
    if (end == llvm::StringRef::npos)
      fail("a string");
    const llvm::StringRef value = rest_.slice(1, end);
    rest_ = rest_.drop_front(end + 1);
    return value;
  }
  bool boolean() {
    rest_ = rest_.ltrim(' ');
    if (rest_.consume_front("True"))
      return true;
    if (!rest_.consume_front("False"))
      fail("True or False");
    return false;
  }
  void parseDescr(NpyHeader &header) {
    rest_ = rest_.ltrim(' ');
    if (rest_.take_front(1) == "[")
      throw Error("it is a structured array; only arrays of numbers are read");
    const llvm::StringRef descr = string();
    const char order = descr.empty() ? 0 : descr.front();
    header.dtype = dtypeOfDescr(descr.drop_front(order != 0));
    if (llvm::StringRef("<>|=").find(order) == llvm::StringRef::npos ||
        header.dtype == DType::kUndefined)
      throw Error("its element type " + frontend::quoted(descr) +
                  " is none of f2 f4 f8, i1 i2 i4 i8, u1 u2 u4 u8, b1 and V2 (bf16)");
    const int bytes = dtypeInfo(header.dtype).bits / 8;
    if (order == '|' && bytes != 1 && header.dtype != DType::kBF16)
      throw Error("its element type " + frontend::quoted(descr) + " has no byte order");
    header.swapped = order == '>' && bytes > 1;
  }
  void parseShape(NpyHeader &header) {
    expect('(');
    bool comma = true;
    while (!take(')')) {
      if (!comma)
        fail("',' or ')'");
      rest_ = rest_.ltrim(' ');
      int64_t dim = 0;
      const llvm::StringRef digits = rest_.take_while(llvm::isDigit);
      if (digits.empty() || digits.getAsInteger(10, dim))
        fail("a dimension that fits in 63 bits");
      if (header.shape.size() == kMaxRank)
        throw Error("it has more than " + std::to_string(kMaxRank) + " axes");
      header.shape.push_back(dim);
      rest_ = rest_.drop_front(digits.size());
      comma = take(',');
    }
    if (header.shape.size() == 1 && !comma)
      fail("a tuple: (3,)");
  }

  llvm::StringRef rest_;
};

} // namespace

NpyHeader parseNpyHeader(llvm::StringRef text) {
  NpyHeader header = HeaderParser(text).parse();
  uint64_t bytes = static_cast<uint64_t>(dtypeInfo(header.dtype).bits / 8);
  bool empty = false;
  for (int64_t dim : header.shape) {
    empty = empty || dim == 0;
    if (!empty && __builtin_mul_overflow(bytes, static_cast<uint64_t>(dim), &bytes))
      throw Error("its shape has too many elements");
  }
  if (!empty && bytes > INT64_MAX / 16)
    throw Error("its shape has too many elements");
  header.payload = empty ? 0 : bytes;
  return header;
}

namespace {

// --- Payloads ------------------------------------------------------------------------------------

template <class T> void swapBytes(Tensor &tensor) {
  unsigned char *bytes = tensor.as<unsigned char>();
  for (int64_t i = 0, n = tensor.count(); i < n; ++i)
    std::reverse(bytes + i * sizeof(T), bytes + (i + 1) * sizeof(T));
}

void swapBytes(Tensor &tensor) {
  switch (dtypeInfo(tensor.dtype()).bits) {
  case 16:
    return swapBytes<uint16_t>(tensor);
  case 32:
    return swapBytes<uint32_t>(tensor);
  case 64:
    return swapBytes<uint64_t>(tensor);
  default:
    return;
  }
}

// The same elements, from column-major to row-major.
Tensor rowMajor(const Tensor &from) {
  const std::vector<int64_t> &shape = from.shape();
  Tensor to = Tensor::zeros(from.dtype(), shape);
  if (!to.defined())
    throw std::bad_alloc();
  const size_t size = dtypeInfo(from.dtype()).bits / 8;
  const size_t rank = shape.size();
  std::vector<int64_t> strides(rank), index(rank, 0);
  int64_t stride = 1;
  for (size_t axis = 0; axis < rank; ++axis) {
    strides[axis] = stride;
    stride *= shape[axis];
  }
  const char *source = from.as<char>();
  char *target = to.as<char>();
  int64_t at = 0;
  for (int64_t i = 0, n = from.count(); i < n; ++i) {
    std::memcpy(target + i * size, source + at * size, size);
    for (size_t axis = rank; axis-- > 0;) {
      at += strides[axis];
      if (++index[axis] < shape[axis])
        break;
      at -= index[axis] * strides[axis];
      index[axis] = 0;
    }
  }
  return to;
}

// --- Archives ------------------------------------------------------------------------------------

std::string zipMessage(zip_error_t *error) {
  std::string message = zip_error_strerror(error);
  zip_error_fini(error);
  return message;
}

struct ZipDeleter {
  void operator()(zip_t *archive) const { zip_discard(archive); }
  void operator()(zip_file_t *file) const { zip_fclose(file); }
};
using Archive = std::unique_ptr<zip_t, ZipDeleter>;
using Entry = std::unique_ptr<zip_file_t, ZipDeleter>;

// Fills `to`, or says what is wrong with the entry.
void readExactly(zip_file_t *entry, void *to, size_t bytes) {
  char *at = static_cast<char *>(to);
  while (bytes > 0) {
    const zip_int64_t got = zip_fread(entry, at, std::min<size_t>(bytes, size_t{1} << 30));
    if (got < 0)
      throw Error(std::string("it cannot be read: ") + zip_file_strerror(entry));
    if (got == 0)
      throw Error("it ends before the array does");
    at += got;
    bytes -= static_cast<size_t>(got);
  }
}

Tensor readEntry(zip_t *archive, zip_uint64_t index) {
  zip_stat_t stat;
  zip_stat_init(&stat);
  if (zip_stat_index(archive, index, 0, &stat) != 0 || !(stat.valid & ZIP_STAT_SIZE) ||
      !(stat.valid & ZIP_STAT_COMP_SIZE) || !(stat.valid & ZIP_STAT_COMP_METHOD))
    throw Error("its size is not known");
  if (stat.comp_method != ZIP_CM_STORE && stat.comp_method != ZIP_CM_DEFLATE)
    throw Error("it is neither stored nor deflated");
  if (stat.size / kMaxDeflate > stat.comp_size)
    throw Error("its size cannot be true");
  const Entry entry(zip_fopen_index(archive, index, 0));
  if (!entry)
    throw Error(std::string("it cannot be read: ") + zip_strerror(archive));

  unsigned char preamble[kPreamble + 4];
  readExactly(entry.get(), preamble, kPreamble);
  const unsigned major = preamble[6], minor = preamble[7];
  if (std::memcmp(preamble, kMagic.data(), kMagic.size()) != 0 || major < 1 || major > 3 || minor)
    throw Error("it is no npy array of version 1, 2 or 3");
  const size_t lengthBytes = major == 1 ? 2 : 4;
  readExactly(entry.get(), preamble + kPreamble, lengthBytes);
  uint32_t length = 0;
  std::memcpy(&length, preamble + kPreamble, lengthBytes);
  if (length > kMaxHeader)
    throw Error("its npy header is too long");
  std::string text(length, 0);
  readExactly(entry.get(), text.data(), length);
  const NpyHeader header = parseNpyHeader(text);

  const zip_uint64_t before = kPreamble + lengthBytes + length;
  if (stat.size != before + header.payload)
    throw Error("it has " + std::to_string(stat.size) + " bytes, and its header says " +
                std::to_string(before + header.payload));
  Tensor tensor = Tensor::zeros(header.dtype, header.shape);
  if (!tensor.defined())
    throw std::bad_alloc();
  readExactly(entry.get(), tensor.data(), header.payload);
  char more = 0;
  if (zip_fread(entry.get(), &more, 1) != 0) // at the end libzip compares the checksum
    throw Error(std::string("it cannot be read: ") + zip_file_strerror(entry.get()));
  if (header.dtype == DType::kBool)
    for (int64_t i = 0; i < tensor.count(); ++i)
      tensor.as<uint8_t>()[i] = tensor.as<uint8_t>()[i] != 0;
  if (header.swapped)
    swapBytes(tensor);
  return header.fortranOrder && header.shape.size() > 1 ? rowMajor(tensor) : tensor;
}

Archive openToRead(const std::string &path) {
  int code = 0;
  Archive archive(zip_open(path.c_str(), ZIP_RDONLY, &code));
  if (!archive) {
    const int reason = errno;
    if (code == ZIP_ER_NOZIP || code == ZIP_ER_INCONS)
      throw Error("it is no zip archive, or a damaged one; a bundle is an .npz file");
    if (code == ZIP_ER_NOENT)
      throw Error("there is no such file");
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const std::string message = zipMessage(&error);
    throw Error("it cannot be opened: " + (code == ZIP_ER_OPEN ? std::strerror(reason) : message));
  }
  return archive;
}

} // namespace

std::vector<NamedTensor> readNpz(const std::string &path) try {
  const Archive archive = openToRead(path);
  const zip_int64_t entries = zip_get_num_entries(archive.get(), 0);
  std::vector<NamedTensor> arrays;
  llvm::StringSet<> names;
  for (zip_int64_t i = 0; i < entries; ++i) {
    const char *raw = zip_get_name(archive.get(), i, ZIP_FL_ENC_RAW);
    llvm::StringRef name = raw ? raw : "";
    if (!name.consume_back(kSuffix))
      throw Error("entry " + frontend::quoted(name) + " is no .npy array");
    if (!names.insert(name).second)
      throw Error("array " + frontend::quoted(name) + " is there twice");
    try {
      arrays.push_back({name.str(), readEntry(archive.get(), i)});
    } catch (Error &error) {
      throw error.at("array " + frontend::quoted(name));
    }
  }
  return arrays;
} catch (Error &error) {
  throw error.inFile(path);
}

namespace {

std::string npyHeaderOf(const Tensor &tensor) {
  std::string text = "{'descr': '" + std::string(descrOf(tensor.dtype())) +
                     "', 'fortran_order': False, 'shape': (";
  for (int64_t dim : tensor.shape())
    text += std::to_string(dim) + (tensor.shape().size() == 1 ? "," : ", ");
  if (tensor.shape().size() > 1)
    text.resize(text.size() - 2);
  text += "), }";
  const size_t unpadded = kPreamble + 2 + text.size() + 1;
  text.append((64 - unpadded % 64) % 64, ' ');
  text += '\n';
  const auto length = static_cast<uint16_t>(text.size());
  std::string header = kMagic.str();
  header += {1, 0, static_cast<char>(length & 0xff), static_cast<char>(length >> 8)};
  return header + text;
}

// One byte an element, for the types of half a byte.
Tensor widened(const Tensor &packed) {
  const bool isSigned = packed.dtype() == DType::kI4;
  Tensor wide = Tensor::zeros(isSigned ? DType::kI8 : DType::kU8, packed.shape());
  if (!wide.defined())
    throw std::bad_alloc();
  for (int64_t i = 0; i < packed.count(); ++i) {
    const int code = (packed.as<uint8_t>()[i / 2] >> (i % 2 * 4)) & 15;
    wide.as<uint8_t>()[i] = static_cast<uint8_t>(isSigned && code > 7 ? code - 16 : code);
  }
  return wide;
}

[[noreturn]] void cannotWrite(const std::string &why) {
  throw Error("it cannot be written: " + why);
}

struct SourceDeleter {
  void operator()(zip_source_t *source) const { zip_source_free(source); }
};
using Source = std::unique_ptr<zip_source_t, SourceDeleter>;

// libzip replaces files by renaming, which would replace devices as well: the archive is made in
// memory.
void copyToFile(zip_source_t *source, const std::string &path) {
  std::FILE *file = std::fopen(path.c_str(), "wb");
  if (!file)
    cannotWrite(std::strerror(errno));
  std::unique_ptr<std::FILE, int (*)(std::FILE *)> closer(file, std::fclose);
  if (zip_source_open(source) != 0)
    cannotWrite(zip_error_strerror(zip_source_error(source)));
  std::vector<char> piece(size_t{1} << 20);
  zip_int64_t got = 0;
  while ((got = zip_source_read(source, piece.data(), piece.size())) > 0)
    if (std::fwrite(piece.data(), 1, static_cast<size_t>(got), file) != static_cast<size_t>(got))
      cannotWrite(std::strerror(errno));
  zip_source_close(source);
  if (got < 0 || std::fclose(closer.release()) != 0)
    cannotWrite(std::strerror(errno));
}

} // namespace

void writeNpz(const std::string &path, llvm::ArrayRef<NamedTensor> arrays) try {
  zip_error_t error;
  zip_error_init(&error);
  Source result(zip_source_buffer_create(nullptr, 0, 0, &error));
  if (!result)
    cannotWrite(zipMessage(&error));
  zip_source_keep(result.get()); // one reference for the archive, one to read it
  Archive archive(zip_open_from_source(result.get(), ZIP_TRUNCATE, &error));
  if (!archive) {
    zip_source_free(result.get());
    cannotWrite(zipMessage(&error));
  }

  std::vector<std::string> contents; // must live until the archive is closed
  contents.reserve(arrays.size());
  for (const NamedTensor &array : arrays) {
    const Tensor tensor = isSubByte(array.tensor.dtype()) ? widened(array.tensor) : array.tensor;
    std::string content = npyHeaderOf(tensor);
    content.append(tensor.as<char>(), tensor.bytes());
    contents.push_back(std::move(content));
    Source entry(
        zip_source_buffer(archive.get(), contents.back().data(), contents.back().size(), 0));
    if (!entry)
      cannotWrite(zip_strerror(archive.get()));
    const zip_int64_t index =
        zip_file_add(archive.get(), (array.name + kSuffix).c_str(), entry.get(), ZIP_FL_ENC_GUESS);
    if (index < 0)
      throw Error(std::string("it cannot be written: ") + zip_strerror(archive.get()))
          .at("array " + frontend::quoted(array.name));
    entry.release();                                 // the archive's now
    constexpr zip_uint16_t kFirstDay = (1 << 5) | 1; // 1980-01-01
    zip_set_file_compression(archive.get(), index, ZIP_CM_STORE, 0);
    zip_file_set_dostime(archive.get(), index, 0, kFirstDay, 0);
  }
  if (zip_close(archive.get()) != 0)
    cannotWrite(zip_strerror(archive.get()));
  archive.release();
  copyToFile(result.get(), path);
} catch (Error &error) {
  throw error.inFile(path);
}

} // namespace engine
