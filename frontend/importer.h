// How an ONNX node becomes IR: one row a operator and version range in one table
// (frontend/table.cpp), one function a row. Only frontend/ sees protobuf.
#pragma once

#include "ir/graph.h"

#include "llvm/ADT/StringMap.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace onnx {
class NodeProto;
class AttributeProto;
class GraphProto;
} // namespace onnx

namespace engine::frontend {

class TensorReader; // frontend/tensor.h

inline constexpr int kLatest = 1 << 20; // `until` of a row that still holds

// Typed access to a node's attributes. Only names that the row lists may be asked for; attributes
// of the file that the row does not list are refused by the driver before the importer runs.
class Attributes {
public:
  // `tensors` reads the data of tensor attributes; without it there are none.
  explicit Attributes(const onnx::NodeProto &node, const TensorReader *tensors = nullptr)
      : node_(node), tensors_(tensors) {}

  bool has(llvm::StringRef name) const { return find(name) != nullptr; }
  // Throws Error at "attribute 'NAME'" when the attribute has another type.
  int64_t integer(llvm::StringRef name, int64_t otherwise) const;
  std::optional<int64_t> integer(llvm::StringRef name) const;
  int64_t requiredInteger(llvm::StringRef name) const;
  bool flag(llvm::StringRef name, bool otherwise) const; // 0 or 1, else Error
  float real(llvm::StringRef name, float otherwise) const;
  std::optional<float> real(llvm::StringRef name) const;
  std::string text(llvm::StringRef name, llvm::StringRef otherwise) const;
  std::optional<llvm::SmallVector<int64_t, 4>> integers(llvm::StringRef name) const;
  std::optional<llvm::SmallVector<float, 4>> reals(llvm::StringRef name) const;
  ir::ConstRef tensor(llvm::StringRef name) const; // null if absent
  const onnx::GraphProto *graph(llvm::StringRef name) const;

  const onnx::NodeProto &node() const { return node_; }

private:
  const onnx::AttributeProto *find(llvm::StringRef name) const;
  const onnx::NodeProto &node_;
  const TensorReader *tensors_;
};

class GraphImporter; // the driver, frontend/import.cpp

// What an importer works with: the node's operands as IR values and the builder.
class ImportContext {
public:
  const Attributes &attrs;
  int opset; // of the node's domain

  ImportContext(const Attributes &attrs, int opset, ir::GraphBuilder &builder,
                llvm::ArrayRef<ir::ValueId> inputs, llvm::ArrayRef<std::string> inputNames,
                llvm::ArrayRef<std::string> outputNames, GraphImporter &importer)
      : attrs(attrs), opset(opset), b(builder), inputs_(inputs), inputNames_(inputNames),
        outputNames_(outputNames), importer_(importer), outputs_(outputNames.size()) {}

  ir::GraphBuilder &b;

  // Inputs. A trailing or "" input is absent. numInputs counts up to the last present one.
  size_t numInputs() const { return inputs_.size(); }
  bool has(size_t i) const { return i < inputs_.size() && inputs_[i].valid(); }
  ir::ValueId input(size_t i) const { return i < inputs_.size() ? inputs_[i] : ir::kNoValue; }
  ir::ValueId required(size_t i, llvm::StringRef inputName) const; // Error "input 'NAME': missing"
  const ir::Fact &fact(size_t i) const { return b.fact(input(i)); }
  // The constant behind an input (Error if it is none): `what` says what must be constant.
  ir::ConstRef constant(size_t i, llvm::StringRef inputName) const;
  // Integer elements of an input as dims, where known: constants and shape arithmetic.
  std::optional<llvm::SmallVector<ir::Dim, 4>> contents(size_t i) const;

  // Outputs. wants(i): the node names output i and it is not "".
  size_t numOutputs() const { return outputNames_.size(); }
  bool wants(size_t i) const { return i < outputNames_.size() && !outputNames_[i].empty(); }
  std::string outputName(size_t i) const { return wants(i) ? outputNames_[i] : std::string(); }
  // Gives output i its value. Every wanted output must be set before the importer returns.
  void set(size_t i, ir::ValueId value);

  // Appends one operator whose single result is output 0, under the ONNX output's name.
  void emit(ir::Op op, llvm::ArrayRef<ir::ValueId> operands);
  // Appends an inner operator: b.add1 with a suffix.
  ir::ValueId add(ir::Op op, llvm::ArrayRef<ir::ValueId> operands, llvm::StringRef suffix);

  // Imports a subgraph attribute (If branches): captures are appended to `captures` as outer
  // values, in the order of the graph's inputs.
  ir::GraphRef importSubgraph(const onnx::GraphProto &graph, ir::Values &captures);

  llvm::ArrayRef<ir::ValueId> results() const { return outputs_; }

private:
  llvm::ArrayRef<ir::ValueId> inputs_;
  llvm::ArrayRef<std::string> inputNames_;
  llvm::ArrayRef<std::string> outputNames_;
  GraphImporter &importer_;
  std::vector<ir::ValueId> outputs_;
};

struct ImporterRow {
  const char *domain; // "" is ai.onnx
  const char *type;
  int since, until;         // opset versions, inclusive
  int minInputs, maxInputs; // kLatest: any number
  int maxOutputs;
  // "axis:int keepdims:int axes:ints": what the importer understands; any other attribute is
  // refused.
  const char *attributes;
  // Element types of input 0 it takes, for `engine ops` and the check before the importer: "f32 f16
  // bf16"; "" any.
  const char *types;
  void (*import)(ImportContext &);
  // What of the operator is refused, for `engine ops` and docs/support.md; "" nothing.
  const char *refusals;
};

// All rows: concatenation of the per-kind arrays below, in one place.
llvm::ArrayRef<ImporterRow> importerTable();
// The row for an operator at an opset version; null if none. `found` tells why: unknown operator,
// or only other versions.
const ImporterRow *findImporter(llvm::StringRef domain, llvm::StringRef type, int opset);

// The kinds, each in frontend/<kind>.cpp.
llvm::ArrayRef<ImporterRow> elementwiseImporters();
llvm::ArrayRef<ImporterRow> matmulImporters();
llvm::ArrayRef<ImporterRow> shapeImporters();
llvm::ArrayRef<ImporterRow> indexImporters();
llvm::ArrayRef<ImporterRow> reduceImporters();
llvm::ArrayRef<ImporterRow> normImporters();
llvm::ArrayRef<ImporterRow> quantImporters();
llvm::ArrayRef<ImporterRow> controlImporters();
llvm::ArrayRef<ImporterRow> rotaryImporters();
llvm::ArrayRef<ImporterRow> attentionImporters(); // Attention, MultiHeadAttention
llvm::ArrayRef<ImporterRow> gqaImporters();
llvm::ArrayRef<ImporterRow> cacheImporters(); // TensorScatter

} // namespace engine::frontend
