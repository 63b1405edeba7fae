// TensorProto -> constant: where the bytes lie, whether they are as many as dtype and dims say, and
// typed fields converted. Weights are not read: constants point into the mapped files.
#pragma once

#include "frontend/external_data.h"
#include "ir/fact.h"

#include <memory>
#include <string>
#include <vector>

namespace onnx {
class TensorProto;
} // namespace onnx

namespace engine::frontend {

// kUndefined for what has no place in the IR (strings, complex numbers, 8-bit floats, ...).
DType dtypeOf(int32_t onnxType);
// "float16", "string", "99 (unknown)": as messages show ONNX's element types.
std::string typeName(int32_t onnxType);
// Throws Error naming the type unless the IR has it.
DType requireDType(int32_t onnxType);

// The bytes of one tensor in a file.
struct TensorBytes {
  llvm::ArrayRef<char> bytes;
  std::shared_ptr<const void> owner; // null: copied
  std::string file;                  // see ir::ConstData
  uint64_t offset = 0;
};

// Bytes that `dims` elements take. Throws Error on negative dims, a rank above kMaxRank, and
// products that overflow.
uint64_t bytesOf(DType dtype, llvm::ArrayRef<int64_t> dims);
// Checks that the bytes are as many as needed. Copies what is not aligned to its elements, and
// bools other than 0 and 1.
ir::ConstRef constantOf(DType dtype, llvm::ArrayRef<int64_t> dims, const TensorBytes &where);

// A tensor at `offset` of a file in the folder. Throws Error without a location.
ir::ConstRef externalConstant(DataFolder &folder, llvm::StringRef file, uint64_t offset,
                              DType dtype, llvm::ArrayRef<int64_t> dims);

class TensorReader {
public:
  // `model`: the serialized model that raw data points into (see wire.h), owned by `owner` (null:
  // constants copy); `fileName`: its name in the model's folder, empty if it is in memory only.
  TensorReader(llvm::ArrayRef<char> model, std::shared_ptr<const void> owner, std::string fileName,
               DataFolder &folder)
      : model_(model), owner_(std::move(owner)), fileName_(std::move(fileName)), folder_(folder) {}

  // Throws Error without a location.
  ir::ConstRef read(const onnx::TensorProto &tensor) const;

private:
  ir::ConstRef readRaw(const onnx::TensorProto &tensor, DType dtype) const;
  ir::ConstRef readExternal(const onnx::TensorProto &tensor, DType dtype) const;

  llvm::ArrayRef<char> model_;
  std::shared_ptr<const void> owner_;
  std::string fileName_;
  DataFolder &folder_;
};

} // namespace engine::frontend
