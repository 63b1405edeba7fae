#include "ir/fact.h"

#include "ir/error.h"
#include "ir/half.h"

#include <cstddef>
#include <cstring>
#include <vector>

namespace engine::ir {

namespace {

template <class T> T load(const void *data, int64_t i) {
  T value;
  std::memcpy(&value, static_cast<const char *>(data) + i * static_cast<int64_t>(sizeof(T)),
              sizeof(T));
  return value;
}

int64_t loadNibble(const ConstData &c, int64_t i) {
  const int64_t byte = load<uint8_t>(c.data, i / 2);
  const int64_t nibble = i % 2 == 0 ? byte & 15 : byte >> 4;
  return c.dtype == DType::kI4 && nibble >= 8 ? nibble - 16 : nibble;
}

template <class T> void store(std::vector<char> &bytes, int64_t i, T value) {
  std::memcpy(bytes.data() + i * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

void storeNibble(std::vector<char> &bytes, int64_t i, int64_t value) {
  const int nibble = static_cast<int>(value & 15);
  const size_t at = static_cast<size_t>(i / 2);
  bytes[at] = static_cast<char>(bytes[at] | (i % 2 == 0 ? nibble : nibble << 4));
}

void storeInt(std::vector<char> &bytes, DType dtype, int64_t i, int64_t value) {
  switch (dtype) {
  case DType::kI8:
  case DType::kU8:
    return store(bytes, i, static_cast<uint8_t>(value));
  case DType::kBool:
    return store(bytes, i, static_cast<uint8_t>(value != 0));
  case DType::kI16:
  case DType::kU16:
    return store(bytes, i, static_cast<uint16_t>(value));
  case DType::kI32:
  case DType::kU32:
    return store(bytes, i, static_cast<uint32_t>(value));
  case DType::kI64:
  case DType::kU64:
    return store(bytes, i, value);
  case DType::kI4:
  case DType::kU4:
    return storeNibble(bytes, i, value);
  default:
    throw Error::internal(std::string("no integers are stored as ") + dtypeName(dtype));
  }
}

void storeFloat(std::vector<char> &bytes, DType dtype, int64_t i, double value) {
  switch (dtype) {
  case DType::kF32:
    return store(bytes, i, static_cast<float>(value));
  case DType::kF16:
    return store(bytes, i, floatToHalf(static_cast<float>(value)));
  case DType::kBF16:
    return store(bytes, i, floatToBFloat16(static_cast<float>(value)));
  case DType::kF64:
    return store(bytes, i, value);
  default:
    throw Error::internal(std::string("no floats are stored as ") + dtypeName(dtype));
  }
}

int64_t countOf(llvm::ArrayRef<int64_t> dims) {
  int64_t count = 1;
  for (const int64_t dim : dims) {
    if (dim < 0 || __builtin_mul_overflow(count, dim, &count))
      throw Error::internal("constant with a negative or enormous dimension");
  }
  return count;
}

template <class T, class Store>
ConstRef makeFrom(DType dtype, llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<T> values,
                  Store store) {
  const int64_t count = countOf(dims);
  if (count != static_cast<int64_t>(values.size()))
    throw Error::internal("constant of " + std::to_string(count) + " elements made from " +
                          std::to_string(values.size()) + " values");
  std::vector<char> bytes(static_cast<size_t>(byteSize(dtype, count)));
  for (int64_t i = 0; i < count; ++i)
    store(bytes, dtype, i, values[static_cast<size_t>(i)]);
  return makeConst(dtype, dims, bytes.data(), bytes.size());
}

} // namespace

int64_t ConstData::count() const { return countOf(dims); }

int64_t ConstData::intAt(int64_t i) const {
  switch (dtype) {
  case DType::kI8:
    return load<int8_t>(data, i);
  case DType::kU8:
    return load<uint8_t>(data, i);
  case DType::kBool:
    return load<uint8_t>(data, i) != 0;
  case DType::kI16:
    return load<int16_t>(data, i);
  case DType::kU16:
    return load<uint16_t>(data, i);
  case DType::kI32:
    return load<int32_t>(data, i);
  case DType::kU32:
    return load<uint32_t>(data, i);
  case DType::kI64:
  case DType::kU64:
    return load<int64_t>(data, i);
  case DType::kI4:
  case DType::kU4:
    return loadNibble(*this, i);
  default:
    throw Error::internal(std::string("an integer is read from a constant of type ") +
                          dtypeName(dtype));
  }
}

double ConstData::floatAt(int64_t i) const {
  switch (dtype) {
  case DType::kF32:
    return load<float>(data, i);
  case DType::kF16:
    return halfToFloat(load<uint16_t>(data, i));
  case DType::kBF16:
    return bfloat16ToFloat(load<uint16_t>(data, i));
  case DType::kF64:
    return load<double>(data, i);
  case DType::kU64:
    return static_cast<double>(load<uint64_t>(data, i));
  default:
    return static_cast<double>(intAt(i));
  }
}

bool ConstData::operator==(const ConstData &other) const {
  if (dtype != other.dtype || dims != other.dims || bytes != other.bytes)
    return false;
  return data == other.data || bytes == 0 || std::memcmp(data, other.data, bytes) == 0;
}

ConstRef makeConst(DType dtype, llvm::ArrayRef<int64_t> dims, const void *data, size_t bytes) {
  const int64_t count = countOf(dims);
  if (dtype == DType::kUndefined || count > INT64_MAX / 8 ||
      static_cast<int64_t>(bytes) != byteSize(dtype, count))
    throw Error::internal("constant of " + std::to_string(bytes) + " bytes made for " +
                          std::to_string(count) + " elements of type " + dtypeName(dtype));
  // Aligned for every element type.
  auto owner = std::make_shared<std::vector<std::max_align_t>>(
      (bytes + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t));
  if (bytes != 0)
    std::memcpy(owner->data(), data, bytes);
  auto result = std::make_shared<ConstData>();
  result->dtype = dtype;
  result->dims.assign(dims.begin(), dims.end());
  result->data = owner->data();
  result->bytes = bytes;
  result->owner = std::move(owner);
  return result;
}

ConstRef makeIntConst(DType dtype, llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<int64_t> values) {
  return makeFrom(dtype, dims, values, storeInt);
}

ConstRef makeFloatConst(DType dtype, llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<double> values) {
  return makeFrom(dtype, dims, values, storeFloat);
}

static bool sameConstant(const ConstRef &a, const ConstRef &b) {
  return a == b || (a && b && *a == *b);
}

bool Fact::operator==(const Fact &other) const {
  if (!known || !other.known)
    return known == other.known;
  return dtype == other.dtype && shape == other.shape && contents == other.contents &&
         sameConstant(constant, other.constant);
}

std::string Fact::str() const {
  if (!known)
    return "?";
  std::string out = dtypeName(dtype) + ir::str(llvm::ArrayRef<Dim>(shape));
  if (!contents)
    return out;
  out += "={";
  const char *separator = "";
  for (const Dim &dim : *contents) {
    out += separator + dim.str();
    separator = ", ";
  }
  return out + "}";
}

Fact makeFact(DType dtype, llvm::ArrayRef<Dim> shape) {
  Fact fact;
  fact.known = true;
  fact.dtype = dtype;
  fact.shape.assign(shape.begin(), shape.end());
  return fact;
}

// Integers that a Dim holds, as u64 above INT64_MAX does not.
static std::optional<llvm::SmallVector<Dim, 4>> contentsOf(const ConstData &data) {
  if (!isInteger(data.dtype) || data.count() > Fact::kMaxContents)
    return std::nullopt;
  llvm::SmallVector<Dim, 4> contents;
  for (int64_t i = 0; i < data.count(); ++i) {
    const int64_t value = data.intAt(i);
    if (data.dtype == DType::kU64 && value < 0)
      return std::nullopt;
    contents.push_back(value);
  }
  return contents;
}

Fact factOf(ConstRef data) {
  Fact fact;
  fact.known = true;
  fact.dtype = data->dtype;
  fact.shape.assign(data->dims.begin(), data->dims.end());
  fact.contents = contentsOf(*data);
  fact.constant = std::move(data);
  return fact;
}

} // namespace engine::ir
