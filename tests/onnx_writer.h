// Writes small ONNX models, well-formed or not, without protobuf: tests see the loader from
// outside.
//
//   onnx_writer::Graph g;
//   g.input("x", kFloat, {"B", 4}).node("Add", {"x", "w"}, {"y"}).initializer("w", kFloat, {4},
//   raw).output("y"); std::string file = onnx_writer::model(g);
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace onnx_writer {

// Element types of TensorProto.
enum : int64_t {
  kFloat = 1,
  kUint8 = 2,
  kInt8 = 3,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kUint32 = 12,
  kInt4 = 22
};

// The wire form of one message, field by field.
class Message {
public:
  Message() = default;
  explicit Message(std::string text) : text_(std::move(text)) {}

  Message &integer(int field, int64_t value) {
    key(field, 0);
    varint(static_cast<uint64_t>(value));
    return *this;
  }
  Message &real(int field, float value) {
    key(field, 5);
    text_.append(reinterpret_cast<const char *>(&value), sizeof value);
    return *this;
  }
  Message &bytes(int field, const std::string &value) {
    key(field, 2);
    varint(value.size());
    text_ += value;
    return *this;
  }
  Message &message(int field, const Message &value) { return bytes(field, value.text_); }
  const std::string &str() const { return text_; }

private:
  void key(int field, int wireType) { varint(static_cast<uint64_t>(field) << 3 | wireType); }
  void varint(uint64_t value) {
    for (; value >= 128; value >>= 7)
      text_ += static_cast<char>(value | 128);
    text_ += static_cast<char>(value);
  }
  std::string text_;
};

template <class T> std::string raw(const std::vector<T> &values) {
  return std::string(reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T));
}

// An axis: a length, a symbol, or nothing.
struct Dim {
  Dim(int value) : value(value) {}
  Dim(int64_t value) : value(value) {}
  Dim(const char *symbol) : symbol(symbol) {}
  int64_t value = 0;
  std::string symbol; // "?": the axis has neither
};

inline Message valueInfo(const std::string &name, int64_t type, const std::vector<Dim> &dims) {
  Message shape;
  for (const Dim &dim : dims) {
    Message axis;
    if (dim.symbol.empty())
      axis.integer(1, dim.value);
    else if (dim.symbol != "?")
      axis.bytes(2, dim.symbol);
    shape.message(1, axis);
  }
  const Message tensor = Message().integer(1, type).message(2, shape);
  return Message().bytes(1, name).message(2, Message().message(1, tensor));
}

inline Message tensor(const std::string &name, int64_t type, const std::vector<int64_t> &dims) {
  Message result;
  for (int64_t dim : dims)
    result.integer(1, dim);
  result.integer(2, type);
  if (!name.empty())
    result.bytes(8, name);
  return result;
}

inline Message rawTensor(const std::string &name, int64_t type, const std::vector<int64_t> &dims,
                         const std::string &data) {
  return tensor(name, type, dims).bytes(9, data);
}

using Entries = std::vector<std::pair<std::string, std::string>>;

inline Message externalTensor(const std::string &name, int64_t type,
                              const std::vector<int64_t> &dims, const Entries &entries) {
  Message result = tensor(name, type, dims);
  for (const auto &entry : entries)
    result.message(13, Message().bytes(1, entry.first).bytes(2, entry.second));
  return result.integer(14, 1);
}

// Attributes.
inline Message attribute(const std::string &name, int64_t value) {
  return Message().bytes(1, name).integer(3, value).integer(20, 2);
}
inline Message attribute(const std::string &name, int value) {
  return attribute(name, static_cast<int64_t>(value));
}
inline Message attribute(const std::string &name, float value) {
  return Message().bytes(1, name).real(2, value).integer(20, 1);
}
inline Message attribute(const std::string &name, const char *value) {
  return Message().bytes(1, name).bytes(4, value).integer(20, 3);
}
inline Message attribute(const std::string &name, const std::vector<int64_t> &values) {
  Message result = Message().bytes(1, name);
  for (int64_t value : values)
    result.integer(8, value);
  return result.integer(20, 7);
}
inline Message attribute(const std::string &name, const std::vector<float> &values) {
  Message result = Message().bytes(1, name);
  for (float value : values)
    result.real(7, value);
  return result.integer(20, 6);
}
inline Message tensorAttribute(const std::string &name, const Message &value) {
  return Message().bytes(1, name).message(5, value).integer(20, 4);
}
inline Message graphAttribute(const std::string &name, const Message &value) {
  return Message().bytes(1, name).message(6, value).integer(20, 5);
}
// Within a function: what the call gives for `of`.
inline Message attributeReference(const std::string &name, const std::string &of, int64_t type) {
  return Message().bytes(1, name).bytes(21, of).integer(20, type);
}

struct NodeOptions {
  std::string name, domain;
  std::vector<Message> attributes;
};

inline Message node(const std::string &type, const std::vector<std::string> &inputs,
                    const std::vector<std::string> &outputs, const NodeOptions &options = {}) {
  Message result;
  for (const std::string &input : inputs)
    result.bytes(1, input);
  for (const std::string &output : outputs)
    result.bytes(2, output);
  if (!options.name.empty())
    result.bytes(3, options.name);
  result.bytes(4, type);
  for (const Message &attribute : options.attributes)
    result.message(5, attribute);
  if (!options.domain.empty())
    result.bytes(7, options.domain);
  return result;
}

class Graph : public Message {
public:
  Graph &input(const std::string &name, int64_t type, const std::vector<Dim> &dims) {
    return add(11, valueInfo(name, type, dims));
  }
  Graph &output(const std::string &name) { return add(12, Message().bytes(1, name)); }
  Graph &output(const std::string &name, int64_t type, const std::vector<Dim> &dims) {
    return add(12, valueInfo(name, type, dims));
  }
  Graph &value(const std::string &name, int64_t type, const std::vector<Dim> &dims) {
    return add(13, valueInfo(name, type, dims));
  }
  Graph &initializer(const Message &tensor) { return add(5, tensor); }
  Graph &node(const std::string &type, const std::vector<std::string> &inputs,
              const std::vector<std::string> &outputs, const NodeOptions &options = {}) {
    return add(1, onnx_writer::node(type, inputs, outputs, options));
  }

private:
  Graph &add(int field, const Message &message) {
    this->message(field, message);
    return *this;
  }
};

using Imports = std::vector<std::pair<std::string, int64_t>>;

inline Message opsetImport(const std::string &domain, int64_t version) {
  return Message().bytes(1, domain).integer(2, version);
}

// A function body is a list of nodes; see Graph::node for them.
inline Message function(const std::string &domain, const std::string &name,
                        const std::vector<std::string> &inputs,
                        const std::vector<std::string> &outputs,
                        const std::vector<std::string> &attributes,
                        const std::vector<Message> &nodes, const Imports &imports = {{"", 21}}) {
  Message result = Message().bytes(1, name).bytes(10, domain);
  for (const std::string &input : inputs)
    result.bytes(4, input);
  for (const std::string &output : outputs)
    result.bytes(5, output);
  for (const std::string &attribute : attributes)
    result.bytes(6, attribute);
  for (const Message &node : nodes)
    result.message(7, node);
  for (const auto &import : imports)
    result.message(9, opsetImport(import.first, import.second));
  return result;
}

struct ModelOptions {
  int64_t irVersion = 10; // 0: none
  Imports imports = {{"", 21}};
  std::vector<Message> functions;
};

inline std::string model(const Message &graph, const ModelOptions &options = {}) {
  Message result;
  if (options.irVersion)
    result.integer(1, options.irVersion);
  for (const auto &import : options.imports)
    result.message(8, opsetImport(import.first, import.second));
  for (const Message &function : options.functions)
    result.message(25, function);
  return result.bytes(2, "onnx_writer").message(7, graph).str();
}

} // namespace onnx_writer
