#include "frontend/load.h"

#include "frontend/external_data.h"
#include "frontend/import.h"
#include "frontend/mapped_file.h"
#include "frontend/opsets.h"
#include "frontend/quote.h"
#include "frontend/wire.h"
#include "ir/text.h"

#include "onnx-ml.pb.h"

#include <google/protobuf/io/coded_stream.h>

namespace engine::frontend {

namespace {

// A file's or a caller's bytes.
struct Source {
  llvm::ArrayRef<char> bytes;
  std::shared_ptr<const void> owner; // null: the caller's, not to be referred to after loading
  std::string path;                  // as given
  std::string fileName;              // in the model's folder; empty: there is no file

  llvm::StringRef text() const { return {bytes.data(), bytes.size()}; }
};

// Graph, node and attribute a level, and what lies below the innermost graph.
constexpr int kProtobufDepth = 3 * ir::kMaxGraphNesting + 30;

onnx::ModelProto parse(llvm::ArrayRef<char> bytes) {
  if (bytes.empty())
    throw Error("is empty, an ONNX model was expected");
  const std::string slim = withoutRawData(bytes);
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t *>(slim.data()),
                                                static_cast<int>(slim.size()));
  stream.SetRecursionLimit(kProtobufDepth);
  onnx::ModelProto model;
  if (!model.MergeFromCodedStream(&stream) || !stream.ConsumedEntireMessage())
    throw Error("is no ONNX model, or is damaged: protobuf cannot read it");
  return model;
}

ir::Model loadOnnx(const Source &source, DataFolder &folder, const LoadOptions &options,
                   Blockers &blockers) {
  const onnx::ModelProto proto = parse(source.bytes);
  checkIrVersion(proto);
  if (!proto.has_graph())
    throw Error("has no graph");
  if (proto.graph().output_size() == 0)
    throw Error("its graph has no outputs");

  ir::Model model;
  model.producer = proto.producer_name();
  if (!proto.producer_version().empty())
    model.producer += (model.producer.empty() ? "" : " ") + proto.producer_version();
  for (const onnx::StringStringEntryProto &entry : proto.metadata_props())
    model.metadata.emplace_back(entry.key(), entry.value());

  const TensorReader tensors(source.bytes, source.owner, source.fileName, folder);
  model.graph = importModel({proto, tensors, source.path, options, blockers, model.warnings});
  return model;
}

ir::Model loadText(const Source &source, DataFolder &folder, const LoadOptions &options) {
  if (!options.symbols.empty())
    throw Error("is a dump, whose symbols cannot be given values; load the .onnx file with them "
                "and dump that");
  const ir::DataResolver resolve = [&](llvm::StringRef file, uint64_t offset, uint64_t bytes,
                                       DType dtype, llvm::ArrayRef<int64_t> dims) {
    if (options.weights.empty() && !folder.has(file))
      throw Error("there is no weight file " + quoted(file) + " beside the dump, in " +
                  quoted(folder.path()) + "; --weights (ModelOptions::weights) names its folder");
    if (bytes != bytesOf(dtype, dims))
      throw Error("data of " + std::to_string(bytes) + " bytes, the type takes " +
                  std::to_string(bytesOf(dtype, dims)));
    return externalConstant(folder, file, offset, dtype, dims);
  };
  ir::Model model;
  model.graph = ir::parseGraph(source.text(), resolve);
  return model;
}

ir::Model load(const Source &source, DataFolder folder, const LoadOptions &options,
               Blockers &blockers) {
  for (const auto &symbol : options.symbols)
    if (symbol.second < 0)
      throw Error("symbol " + quoted(symbol.first()) + " was given the value " +
                  std::to_string(symbol.second) + ", 0 or more was expected");
  const bool isText = ir::isEngineIr(source.text());
  if (isText && !options.weights.empty())
    folder = DataFolder(options.weights);
  ir::Model model =
      isText ? loadText(source, folder, options) : loadOnnx(source, folder, options, blockers);
  model.path = source.path;
  model.folder = folder.path();
  return model;
}

} // namespace

ir::Model loadModel(const std::string &path, const LoadOptions &options, Blockers &blockers) {
  try {
    const std::shared_ptr<const MappedFile> file = MappedFile::open(path);
    const Source source{file->bytes(), file, path, fileNameOf(path)};
    return load(source, DataFolder::besideModel(path), options, blockers);
  } catch (Error &e) {
    throw e.inFile(path);
  }
}

ir::Model loadModel(llvm::ArrayRef<char> bytes, const std::string &name, const std::string &folder,
                    const LoadOptions &options, Blockers &blockers) {
  try {
    return load({bytes, nullptr, name, ""}, DataFolder(folder), options, blockers);
  } catch (Error &e) {
    throw e.inFile(name);
  }
}

} // namespace engine::frontend
