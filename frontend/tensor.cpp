#include "frontend/tensor.h"

#include "frontend/mapped_file.h"
#include "frontend/quote.h"
#include "ir/dims_text.h"
#include "ir/error.h"
#include "ir/view.h"

#include "onnx-ml.pb.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace engine::frontend {

namespace {

struct TypeRow {
  int32_t onnx;
  const char *name;
  DType dtype;
};

constexpr TypeRow kTypes[] = {
    {onnx::TensorProto::FLOAT, "float32", DType::kF32},
    {onnx::TensorProto::UINT8, "uint8", DType::kU8},
    {onnx::TensorProto::INT8, "int8", DType::kI8},
    {onnx::TensorProto::UINT16, "uint16", DType::kU16},
    {onnx::TensorProto::INT16, "int16", DType::kI16},
    {onnx::TensorProto::INT32, "int32", DType::kI32},
    {onnx::TensorProto::INT64, "int64", DType::kI64},
    {onnx::TensorProto::STRING, "string", DType::kUndefined},
    {onnx::TensorProto::BOOL, "bool", DType::kBool},
    {onnx::TensorProto::FLOAT16, "float16", DType::kF16},
    {onnx::TensorProto::DOUBLE, "float64", DType::kF64},
    {onnx::TensorProto::UINT32, "uint32", DType::kU32},
    {onnx::TensorProto::UINT64, "uint64", DType::kU64},
    {onnx::TensorProto::COMPLEX64, "complex64", DType::kUndefined},
    {onnx::TensorProto::COMPLEX128, "complex128", DType::kUndefined},
    {onnx::TensorProto::BFLOAT16, "bfloat16", DType::kBF16},
    {onnx::TensorProto::UINT4, "uint4", DType::kU4},
    {onnx::TensorProto::INT4, "int4", DType::kI4},
    // By number: older versions of the schema lack the names.
    {17, "float8e4m3fn", DType::kUndefined},
    {18, "float8e4m3fnuz", DType::kUndefined},
    {19, "float8e5m2", DType::kUndefined},
    {20, "float8e5m2fnuz", DType::kUndefined},
    {23, "float4e2m1", DType::kUndefined},
    {24, "float8e8m0", DType::kUndefined},
    {25, "uint2", DType::kUndefined},
    {26, "int2", DType::kUndefined},
    {27, "float6e2m3", DType::kUndefined},
    {28, "float6e3m2", DType::kUndefined},
};

const TypeRow *typeRow(int32_t onnxType) {
  for (const TypeRow &row : kTypes)
    if (row.onnx == onnxType)
      return &row;
  return nullptr;
}

std::string tensorText(DType dtype, llvm::ArrayRef<int64_t> dims) {
  return std::string(dtypeName(dtype)) + dimsText(dims);
}

bool isAligned(const void *data, DType dtype) {
  const size_t alignment = std::max(dtypeInfo(dtype).bits / 8, 1);
  return reinterpret_cast<uintptr_t>(data) % alignment == 0;
}

bool hasOddBools(DType dtype, llvm::ArrayRef<char> bytes) {
  return dtype == DType::kBool &&
         std::any_of(bytes.begin(), bytes.end(), [](char c) { return c & ~1; });
}

llvm::SmallVector<int64_t, 4> dimsOf(const onnx::TensorProto &tensor) {
  return {tensor.dims().begin(), tensor.dims().end()};
}

// --- Typed fields: float_data, int32_data, ...

enum class TypedField { kFloat, kInt32, kInt64, kDouble, kUint64 };

TypedField typedFieldOf(DType dtype) {
  switch (dtype) {
  case DType::kF32:
    return TypedField::kFloat;
  case DType::kF64:
    return TypedField::kDouble;
  case DType::kI64:
    return TypedField::kInt64;
  case DType::kU32:
  case DType::kU64:
    return TypedField::kUint64;
  default:
    return TypedField::kInt32;
  }
}

struct TypedFieldInfo {
  TypedField field;
  const char *name;
  int64_t size;
};

std::vector<TypedFieldInfo> typedFields(const onnx::TensorProto &tensor) {
  return {
      {TypedField::kFloat, "float_data", tensor.float_data_size()},
      {TypedField::kInt32, "int32_data", tensor.int32_data_size()},
      {TypedField::kInt64, "int64_data", tensor.int64_data_size()},
      {TypedField::kDouble, "double_data", tensor.double_data_size()},
      {TypedField::kUint64, "uint64_data", tensor.uint64_data_size()},
  };
}

// Name of a field that holds elements, other than the one that the type uses (null: of any); null
// if there is none.
const char *strayField(const onnx::TensorProto &tensor, const TypedField *used) {
  if (tensor.string_data_size() > 0)
    return "string_data";
  for (const TypedFieldInfo &info : typedFields(tensor))
    if (info.size > 0 && !(used && info.field == *used))
      return info.name;
  return nullptr;
}

// What an element of int32_data may be. f16 and bf16 stand there as their bits; some writers extend
// the sign.
struct ElementRange {
  int64_t min, max;
};

ElementRange int32FieldRange(DType dtype) {
  switch (dtype) {
  case DType::kI8:
    return {INT8_MIN, INT8_MAX};
  case DType::kU8:
    return {0, UINT8_MAX};
  case DType::kI16:
    return {INT16_MIN, INT16_MAX};
  case DType::kU16:
    return {0, UINT16_MAX};
  case DType::kF16:
  case DType::kBF16:
    return {INT16_MIN, UINT16_MAX};
  case DType::kI4:
  case DType::kU4: // two elements an entry
    return {INT8_MIN, UINT8_MAX};
  default:
    return {INT32_MIN, INT32_MAX};
  }
}

// The low `width` bytes of each element, on the little-endian machines that this runs on.
template <class Elements>
std::string packLow(const Elements &elements, size_t width, ElementRange range, const char *field) {
  std::string bytes;
  bytes.reserve(elements.size() * width);
  for (const auto element : elements) {
    const int64_t value = static_cast<int64_t>(element);
    if (value < range.min || value > range.max)
      throw Error(std::string(field) + " holds " + std::to_string(value) +
                  ", which the element type cannot");
    bytes.append(reinterpret_cast<const char *>(&value), width);
  }
  return bytes;
}

template <class Elements> std::string bytesAsTheyAre(const Elements &elements) {
  return std::string(reinterpret_cast<const char *>(elements.data()),
                     elements.size() * sizeof(*elements.data()));
}

std::string typedBytes(const onnx::TensorProto &tensor, DType dtype) {
  const size_t width = std::max(dtypeInfo(dtype).bits / 8, 1);
  switch (typedFieldOf(dtype)) {
  case TypedField::kFloat:
    return bytesAsTheyAre(tensor.float_data());
  case TypedField::kDouble:
    return bytesAsTheyAre(tensor.double_data());
  case TypedField::kInt64:
    return bytesAsTheyAre(tensor.int64_data());
  case TypedField::kUint64:
    if (dtype == DType::kU64)
      return bytesAsTheyAre(tensor.uint64_data());
    return packLow(tensor.uint64_data(), width, {0, UINT32_MAX}, "uint64_data");
  case TypedField::kInt32:
    break;
  }
  if (dtype != DType::kBool)
    return packLow(tensor.int32_data(), width, int32FieldRange(dtype), "int32_data");
  std::string bytes;
  for (const int32_t element : tensor.int32_data())
    bytes += static_cast<char>(element != 0);
  return bytes;
}

ir::ConstRef readTyped(const onnx::TensorProto &tensor, DType dtype) {
  const TypedField used = typedFieldOf(dtype);
  if (const char *stray = strayField(tensor, &used))
    throw Error(std::string("has elements in ") + stray + ", which is not the field of " +
                dtypeName(dtype));

  const llvm::SmallVector<int64_t, 4> dims = dimsOf(tensor);
  const int64_t count =
      isSubByte(dtype) ? static_cast<int64_t>(bytesOf(dtype, dims))
                       : static_cast<int64_t>(bytesOf(dtype, dims)) / (dtypeInfo(dtype).bits / 8);
  for (const TypedFieldInfo &info : typedFields(tensor)) {
    if (info.field != used || info.size == count)
      continue;
    if (info.size == 0)
      throw Error("has no data, " + tensorText(dtype, dims) + " was declared");
    throw Error(std::string(info.name) + " holds " + std::to_string(info.size) + " entries, " +
                tensorText(dtype, dims) + " takes " + std::to_string(count));
  }
  const std::string bytes = typedBytes(tensor, dtype);
  return ir::makeConst(dtype, dims, bytes.data(), bytes.size());
}

// --- External data

struct ExternalLocation {
  std::string file;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
};

uint64_t parseBytes(const std::string &key, const std::string &text) {
  uint64_t value = 0;
  if (llvm::StringRef(text).getAsInteger(10, value))
    throw Error("external data " + key + " is " + quoted(text) +
                ", a number of bytes was expected");
  return value;
}

ExternalLocation externalLocation(const onnx::TensorProto &tensor) {
  ExternalLocation where;
  bool hasLocation = false;
  for (const onnx::StringStringEntryProto &entry : tensor.external_data()) {
    if (entry.key() == "location") {
      where.file = entry.value();
      hasLocation = true;
    } else if (entry.key() == "offset") {
      where.offset = parseBytes("offset", entry.value());
    } else if (entry.key() == "length") {
      where.length = parseBytes("length", entry.value());
    } else if (entry.key() != "checksum") {
      // checksum: of the whole file; checking it would read all weights, so nobody does at load.
      throw Error("external data key " + quoted(entry.key()) +
                  " is not understood; location, offset, length and checksum are");
    }
  }
  if (!hasLocation)
    throw Error("external data has no location");
  return where;
}

} // namespace

DType dtypeOf(int32_t onnxType) {
  const TypeRow *row = typeRow(onnxType);
  return row ? row->dtype : DType::kUndefined;
}

std::string typeName(int32_t onnxType) {
  const TypeRow *row = typeRow(onnxType);
  if (row)
    return row->name;
  return onnxType == 0 ? "undefined" : std::to_string(onnxType) + " (unknown)";
}

DType requireDType(int32_t onnxType) {
  const DType dtype = dtypeOf(onnxType);
  if (dtype == DType::kUndefined)
    throw Error("element type " + typeName(onnxType) + " is not supported");
  return dtype;
}

uint64_t bytesOf(DType dtype, llvm::ArrayRef<int64_t> dims) {
  if (dims.size() > size_t(kMaxRank))
    throw Error("has rank " + std::to_string(dims.size()) + ", at most " +
                std::to_string(kMaxRank) + " is supported");
  // Axes of length 0 count as 1 here, so that strides do not overflow either.
  int64_t product = 1;
  bool empty = false;
  for (int64_t dim : dims) {
    if (dim < 0)
      throw Error("dims " + dimsText(dims) + " are negative");
    empty |= dim == 0;
    if (__builtin_mul_overflow(product, std::max<int64_t>(dim, 1), &product) ||
        product > INT64_MAX / 16)
      throw Error("dims " + dimsText(dims) + " are too large");
  }
  return empty ? 0 : static_cast<uint64_t>(byteSize(dtype, product));
}

// The copy's pages take the place of the file's, piece by piece: not both of a large weight are in
// memory.
static std::shared_ptr<const void> copyOf(llvm::ArrayRef<char> bytes) {
  constexpr size_t kAlignment = 64, kPiece = size_t{4} << 20;
  const size_t size = (bytes.size() + kAlignment) / kAlignment * kAlignment;
  char *copy = static_cast<char *>(std::aligned_alloc(kAlignment, size));
  if (!copy)
    throw std::bad_alloc();
  const std::shared_ptr<const void> owner(copy, std::free);
  for (size_t begin = 0; begin < bytes.size(); begin += kPiece) {
    const llvm::ArrayRef<char> piece = bytes.slice(begin, std::min(kPiece, bytes.size() - begin));
    std::memcpy(copy + begin, piece.data(), piece.size());
    giveBackPages(piece);
  }
  return owner;
}

ir::ConstRef constantOf(DType dtype, llvm::ArrayRef<int64_t> dims, const TensorBytes &where) {
  const uint64_t needed = bytesOf(dtype, dims);
  if (where.bytes.size() != needed)
    throw Error("has " + std::to_string(where.bytes.size()) + " bytes of data, " +
                tensorText(dtype, dims) + " takes " + std::to_string(needed));

  if (hasOddBools(dtype, where.bytes)) {
    // Not what stands in the file, so it has no place there.
    std::string bools;
    for (char c : where.bytes)
      bools += static_cast<char>(c != 0);
    return ir::makeConst(dtype, dims, bools.data(), bools.size());
  }

  auto data = std::make_shared<ir::ConstData>();
  data->dtype = dtype;
  data->dims.assign(dims.begin(), dims.end());
  data->data = where.bytes.data();
  data->bytes = where.bytes.size();
  data->owner = where.owner;
  data->file = where.file;
  data->offset = where.offset;
  if (!where.owner || !isAligned(data->data, dtype)) {
    data->owner = copyOf(where.bytes);
    data->data = data->owner.get();
  }
  return data;
}

ir::ConstRef externalConstant(DataFolder &folder, llvm::StringRef file, uint64_t offset,
                              DType dtype, llvm::ArrayRef<int64_t> dims) {
  const uint64_t needed = bytesOf(dtype, dims);
  const std::shared_ptr<const MappedFile> mapped = folder.open(file);
  const uint64_t size = mapped->bytes().size();
  if (offset > size || needed > size - offset)
    throw Error("external data file " + quoted(file) + " has " + std::to_string(size) + " bytes, " +
                std::to_string(needed) + " at offset " + std::to_string(offset) + " were declared");
  return constantOf(dtype, dims,
                    {mapped->bytes().slice(offset, needed), mapped, file.str(), offset});
}

ir::ConstRef TensorReader::read(const onnx::TensorProto &tensor) const {
  const DType dtype = requireDType(tensor.data_type());
  bytesOf(dtype, dimsOf(tensor)); // the dims make sense, before anything else is looked at
  const bool external = tensor.data_location() == onnx::TensorProto::EXTERNAL;
  if (external && tensor.has_segment())
    throw Error("has both external data and raw_data");
  if (external || tensor.has_segment()) {
    if (const char *stray = strayField(tensor, nullptr))
      throw Error(std::string("has both ") + (external ? "external data" : "raw_data") + " and " +
                  stray);
    return external ? readExternal(tensor, dtype) : readRaw(tensor, dtype);
  }
  if (tensor.external_data_size() > 0)
    throw Error("names external data, but its data_location is not EXTERNAL");
  return readTyped(tensor, dtype);
}

ir::ConstRef TensorReader::readRaw(const onnx::TensorProto &tensor, DType dtype) const {
  const uint64_t begin = static_cast<uint64_t>(tensor.segment().begin());
  const uint64_t end = static_cast<uint64_t>(tensor.segment().end());
  TensorBytes where;
  where.bytes = model_.slice(begin, end - begin);
  where.owner = owner_;
  where.file = fileName_;
  where.offset = fileName_.empty() ? 0 : begin;
  return constantOf(dtype, dimsOf(tensor), where);
}

ir::ConstRef TensorReader::readExternal(const onnx::TensorProto &tensor, DType dtype) const {
  const llvm::SmallVector<int64_t, 4> dims = dimsOf(tensor);
  const uint64_t needed = bytesOf(dtype, dims);
  const ExternalLocation location = externalLocation(tensor);
  if (location.length && *location.length != needed)
    throw Error("external data has length " + std::to_string(*location.length) + ", " +
                tensorText(dtype, dims) + " takes " + std::to_string(needed) + " bytes");
  return externalConstant(folder_, location.file, location.offset, dtype, dims);
}

} // namespace engine::frontend
