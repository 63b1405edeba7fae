#include "frontend/tensor_file.h"

#include "frontend/mapped_file.h"
#include "frontend/tensor.h"
#include "frontend/wire.h"
#include "ir/error.h"

#include "onnx-ml.pb.h"

namespace engine::frontend {

namespace {

void appendVarint(std::string &to, uint64_t value) {
  for (; value >= 128; value >>= 7)
    to += static_cast<char>(value | 128);
  to += static_cast<char>(value);
}

// A length-delimited field.
std::string field(int number, llvm::StringRef content) {
  std::string text;
  appendVarint(text, static_cast<uint64_t>(number) << 3 | 2);
  appendVarint(text, content.size());
  return text + content.str();
}

} // namespace

// The tensor becomes the one initializer of a model: then it is read as all others are.
ir::ConstRef readTensorFile(const std::string &path, std::string *name) try {
  const std::shared_ptr<const MappedFile> file = MappedFile::open(path);
  const llvm::StringRef bytes(file->bytes().data(), file->bytes().size());
  const auto text = std::make_shared<const std::string>(
      field(onnx::ModelProto::kGraphFieldNumber,
            field(onnx::GraphProto::kInitializerFieldNumber, bytes)));
  const llvm::ArrayRef<char> model(text->data(), text->size());
  onnx::ModelProto proto;
  if (!proto.ParseFromString(withoutRawData(model)) || proto.graph().initializer_size() != 1)
    throw Error("it is no TensorProto");
  DataFolder none("");
  const onnx::TensorProto &tensor = proto.graph().initializer(0);
  if (name)
    *name = tensor.name();
  return TensorReader(model, text, "", none).read(tensor);
} catch (Error &error) {
  throw error.inFile(path);
}

} // namespace engine::frontend
