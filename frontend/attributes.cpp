#include "frontend/attributes.h"

#include "frontend/importer.h"
#include "frontend/quote.h"
#include "frontend/tensor.h"

#include "onnx-ml.pb.h"

namespace engine::frontend {

namespace {

using Proto = onnx::AttributeProto;

struct KindRow {
  Proto::AttributeType type;
  const char *name;
};

// The names are those of ImporterRow::attributes.
constexpr KindRow kKinds[] = {
    {Proto::FLOAT, "float"},
    {Proto::INT, "int"},
    {Proto::STRING, "string"},
    {Proto::TENSOR, "tensor"},
    {Proto::GRAPH, "graph"},
    {Proto::FLOATS, "floats"},
    {Proto::INTS, "ints"},
    {Proto::STRINGS, "strings"},
    {Proto::TENSORS, "tensors"},
    {Proto::GRAPHS, "graphs"},
    {Proto::TYPE_PROTO, "type"},
    {Proto::TYPE_PROTOS, "types"},
    {Proto::SPARSE_TENSOR, "sparse_tensor"},
    {Proto::SPARSE_TENSORS, "sparse_tensors"},
};

// Files of the first IR versions leave the type out: then the field that is there tells.
Proto::AttributeType typeOf(const Proto &attribute) {
  if (attribute.type() != Proto::UNDEFINED)
    return attribute.type();
  if (attribute.has_f())
    return Proto::FLOAT;
  if (attribute.has_i())
    return Proto::INT;
  if (attribute.has_s())
    return Proto::STRING;
  if (attribute.has_t())
    return Proto::TENSOR;
  if (attribute.has_g())
    return Proto::GRAPH;
  if (attribute.floats_size() > 0)
    return Proto::FLOATS;
  if (attribute.ints_size() > 0)
    return Proto::INTS;
  if (attribute.strings_size() > 0)
    return Proto::STRINGS;
  return Proto::UNDEFINED;
}

std::string at(llvm::StringRef name) { return "attribute " + quoted(name); }

const Proto *typed(const Proto *attribute, Proto::AttributeType type) {
  if (!attribute)
    return nullptr;
  const Proto::AttributeType found = typeOf(*attribute);
  // A list without elements is written without any field by some.
  if (found != type && found != Proto::UNDEFINED) {
    Proto expected;
    expected.set_type(type);
    throw Error("is of type " + kindOf(*attribute) + ", " + kindOf(expected) + " was expected")
        .at(at(attribute->name()));
  }
  return attribute;
}

} // namespace

std::string kindOf(const onnx::AttributeProto &attribute) {
  const Proto::AttributeType type = typeOf(attribute);
  for (const KindRow &row : kKinds)
    if (row.type == type)
      return row.name;
  return kUndefinedKind;
}

bool isKind(llvm::StringRef word) {
  return llvm::any_of(kKinds, [&](const KindRow &row) { return word == row.name; });
}

const onnx::AttributeProto *Attributes::find(llvm::StringRef name) const {
  for (const Proto &attribute : node_.attribute())
    if (attribute.name() == name)
      return &attribute;
  return nullptr;
}

std::optional<int64_t> Attributes::integer(llvm::StringRef name) const {
  const Proto *attribute = typed(find(name), Proto::INT);
  return attribute ? std::optional<int64_t>(attribute->i()) : std::nullopt;
}

int64_t Attributes::integer(llvm::StringRef name, int64_t otherwise) const {
  return integer(name).value_or(otherwise);
}

int64_t Attributes::requiredInteger(llvm::StringRef name) const {
  const std::optional<int64_t> value = integer(name);
  if (!value)
    throw Error("is missing").at(at(name));
  return *value;
}

bool Attributes::flag(llvm::StringRef name, bool otherwise) const {
  const int64_t value = integer(name, otherwise ? 1 : 0);
  if (value != 0 && value != 1)
    throw Error("is " + std::to_string(value) + ", 0 or 1 was expected").at(at(name));
  return value == 1;
}

std::optional<float> Attributes::real(llvm::StringRef name) const {
  const Proto *attribute = typed(find(name), Proto::FLOAT);
  return attribute ? std::optional<float>(attribute->f()) : std::nullopt;
}

float Attributes::real(llvm::StringRef name, float otherwise) const {
  return real(name).value_or(otherwise);
}

std::string Attributes::text(llvm::StringRef name, llvm::StringRef otherwise) const {
  const Proto *attribute = typed(find(name), Proto::STRING);
  return attribute ? attribute->s() : otherwise.str();
}

std::optional<llvm::SmallVector<int64_t, 4>> Attributes::integers(llvm::StringRef name) const {
  const Proto *attribute = typed(find(name), Proto::INTS);
  if (!attribute)
    return std::nullopt;
  return llvm::SmallVector<int64_t, 4>(attribute->ints().begin(), attribute->ints().end());
}

std::optional<llvm::SmallVector<float, 4>> Attributes::reals(llvm::StringRef name) const {
  const Proto *attribute = typed(find(name), Proto::FLOATS);
  if (!attribute)
    return std::nullopt;
  return llvm::SmallVector<float, 4>(attribute->floats().begin(), attribute->floats().end());
}

ir::ConstRef Attributes::tensor(llvm::StringRef name) const {
  const Proto *attribute = typed(find(name), Proto::TENSOR);
  if (!attribute)
    return nullptr;
  if (!tensors_)
    throw Error::internal("tensor attributes cannot be read here").at(at(name));
  try {
    return tensors_->read(attribute->t());
  } catch (Error &e) {
    throw e.at(at(name));
  }
}

const onnx::GraphProto *Attributes::graph(llvm::StringRef name) const {
  const Proto *attribute = typed(find(name), Proto::GRAPH);
  return attribute ? &attribute->g() : nullptr;
}

} // namespace engine::frontend
