#include "ir/text.h"

#include "ir/field_values.h"
#include "ir/half.h"
#include "ir/quote.h"
#include "ir/text_names.h"

#include "llvm/ADT/StringExtras.h"

#include <charconv>
#include <cmath>
#include <cstring>

namespace engine::ir {

namespace {

// Constants of up to this many elements stand in the text.
constexpr int64_t kMaxInline = 64;

// The shortest decimal that reads back as the same value; NaNs other than `plainNan` with their
// bits.
template <class T, class Bits> std::string floatText(T value, Bits bits, Bits plainNan) {
  if (std::isnan(value))
    return bits == plainNan ? "nan" : "nan(0x" + llvm::utohexstr(bits, /*LowerCase=*/true) + ")";
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return std::string(buffer, end);
}

template <class T> T loadAt(const ConstData &data, int64_t i) {
  T value;
  std::memcpy(&value, static_cast<const char *>(data.data) + i * static_cast<int64_t>(sizeof(T)),
              sizeof(T));
  return value;
}

std::string floatText(float value) {
  return floatText(value, detail::bitsOf(value), uint32_t{0x7fc00000});
}

std::string elementText(const ConstData &data, int64_t i) {
  switch (data.dtype) {
  case DType::kF32:
    return floatText(loadAt<float>(data, i));
  case DType::kF64:
    return floatText(loadAt<double>(data, i), loadAt<uint64_t>(data, i),
                     uint64_t{0x7ff8000000000000});
  case DType::kF16: {
    const uint16_t bits = loadAt<uint16_t>(data, i);
    return floatText(halfToFloat(bits), bits, uint16_t{0x7e00});
  }
  case DType::kBF16: {
    const uint16_t bits = loadAt<uint16_t>(data, i);
    return floatText(bfloat16ToFloat(bits), bits, uint16_t{0x7fc0});
  }
  case DType::kBool:
    return data.intAt(i) ? "true" : "false";
  case DType::kU64:
    return std::to_string(loadAt<uint64_t>(data, i));
  default:
    return std::to_string(data.intAt(i));
  }
}

// Whether the elements determine the bytes: a bool other than 0 or 1, or a nibble of padding that
// is not 0, is lost.
bool elementsSayAll(const ConstData &data) {
  const auto *bytes = static_cast<const uint8_t *>(data.data);
  if (data.dtype == DType::kBool)
    return std::all_of(bytes, bytes + data.bytes, [](uint8_t byte) { return byte <= 1; });
  if (isSubByte(data.dtype) && data.count() % 2 != 0)
    return bytes[data.bytes - 1] < 16;
  return true;
}

class GraphPrinter {
public:
  GraphPrinter(const Graph &graph, llvm::raw_ostream &os, unsigned indent)
      : graph_(graph), os_(os), indent_(indent) {}

  void run() {
    for (const ValueId input : graph_.inputs())
      printInput(input);
    for (const Node &node : graph_.nodes())
      printNode(node);
    for (size_t i = 0; i < graph_.outputs().size(); ++i)
      printOutput(graph_.value(graph_.outputs()[i]).name, graph_.outputNames()[i]);
  }

private:
  llvm::raw_ostream &startLine() { return os_.indent(indent_); }

  void printInput(ValueId input) {
    const Value &value = graph_.value(input);
    startLine() << "input " << valueText(value.name) << " : " << value.fact.str();
    for (const InputDefault &entry : graph_.defaults()) {
      if (!(entry.input == input))
        continue;
      os_ << " default ";
      print(entry.value);
    }
    os_ << '\n';
  }

  void printOutput(const std::string &value, const std::string &name) {
    startLine() << "output " << valueText(value);
    if (name != value)
      os_ << " as " << quoted(name);
    os_ << '\n';
  }

  void printNode(const Node &node) {
    startLine();
    if (!node.results.empty())
      printList(node.results, [this](ValueId id) { printValue(id); });
    os_ << (node.results.empty() ? "" : " = ") << opName(node.op);
    printOperands(node);
    printFields(node.op);
    if (!node.results.empty()) {
      os_ << " : ";
      printList(node.results, [this](ValueId id) { printType(id); });
    }
    if (node.name != defaultNodeName(node))
      os_ << " @" << quoted(node.name);
    if (!node.onnx.empty())
      os_ << " #" << quoted(node.onnx);
    os_ << '\n';
  }

  // What the parser takes as the node's name where the text gives none.
  std::string defaultNodeName(const Node &node) const {
    return !node.results.empty() && node.results.front().valid()
               ? graph_.value(node.results.front()).name
               : "";
  }

  template <class List, class Print> void printList(const List &list, Print printElement) {
    const char *separator = "";
    for (const auto &element : list) {
      os_ << separator;
      printElement(element);
      separator = ", ";
    }
  }

  void printValue(ValueId id) { os_ << (id.valid() ? valueText(graph_.value(id).name) : "_"); }

  // A constant's contents stand in its data already.
  void printType(ValueId id) {
    if (!id.valid()) {
      os_ << '_';
      return;
    }
    Fact fact = graph_.fact(id);
    if (fact.constant)
      fact.contents.reset();
    os_ << fact.str();
  }

  // By name where operands may be absent, by place elsewhere.
  void printOperands(const Node &node) {
    const llvm::ArrayRef<OperandSpec> specs = operandSpecs(node.op);
    if (specs.empty())
      return;
    const bool byName = llvm::any_of(specs, [](const OperandSpec &spec) { return spec.optional; });
    const char *separator = "";
    os_ << '(';
    for (size_t i = 0; i < node.operands.size(); ++i) {
      if (byName && !node.operands[i].valid())
        continue;
      os_ << separator;
      if (byName)
        os_ << specs[i].name << '=';
      printValue(node.operands[i]);
      separator = ", ";
    }
    os_ << ')';
  }

  // `binary {kind=add}` and `cast {to=f32}` say what they do even at the default.
  static bool namesOperation(llvm::StringRef field) { return field == "kind" || field == "to"; }

  void printFields(const Op &op) {
    std::visit(
        [this](const auto &fields) {
          using T = std::decay_t<decltype(fields)>;
          const char *separator = " {";
          zipFields(fields, T{}, [&](const char *name, const auto &value, const auto &byDefault) {
            if (sameValue(value, byDefault) && !namesOperation(name))
              return;
            os_ << separator << name << '=';
            print(value);
            separator = ", ";
          });
          if (*separator == ',')
            os_ << '}';
        },
        op);
  }

  // --- Field values, one overload for each type ---

  void print(bool value) { os_ << (value ? "true" : "false"); }
  void print(int64_t value) { os_ << value; }
  void print(float value) { os_ << floatText(value); }
  void print(const std::string &value) { os_ << quoted(value); }
  void print(const Dim &value) { os_ << value.str(); }
  void print(const Shape &value) { os_ << ir::str(llvm::ArrayRef<Dim>(value)); }
  void print(DType value) { os_ << dtypeName(value); }

  void print(const Ints &value) {
    os_ << '[';
    printList(value, [this](int64_t element) { os_ << element; });
    os_ << ']';
  }

  template <class E>
  requires std::is_enum_v<E>
  void print(E value) { os_ << enumNames(value)[static_cast<size_t>(value)]; }

  void print(const Band &band) {
    const auto printEnd = [this](int64_t end) {
      if (end == Band::kOpen)
        os_ << "..";
      else
        os_ << end;
    };
    os_ << '[';
    printEnd(band.left);
    os_ << ", ";
    printEnd(band.right);
    os_ << ']';
  }

  void print(const GraphRef &graph) {
    os_ << "graph {\n";
    GraphPrinter(*graph, os_, indent_ + 2).run();
    startLine() << '}';
  }

  void print(const ConstRef &data) {
    os_ << dtypeName(data->dtype);
    print(Ints(data->dims));
    if (data->count() <= kMaxInline && elementsSayAll(*data))
      printElements(*data);
    else if (!data->file.empty())
      os_ << " data(" << quoted(data->file) << ", " << data->offset << ", " << data->bytes << ')';
    else
      printBytes(*data);
  }

  void printElements(const ConstData &data) {
    const char *separator = "";
    os_ << '{';
    for (int64_t i = 0; i < data.count(); ++i) {
      os_ << separator << elementText(data, i);
      separator = ", ";
    }
    os_ << '}';
  }

  void printBytes(const ConstData &data) {
    const auto *bytes = static_cast<const uint8_t *>(data.data);
    os_ << " hex\"";
    for (size_t i = 0; i < data.bytes; ++i)
      os_ << llvm::hexdigit(bytes[i] >> 4, true) << llvm::hexdigit(bytes[i] & 15, true);
    os_ << '"';
  }

  const Graph &graph_;
  llvm::raw_ostream &os_;
  unsigned indent_;
};

// A comment stays on its line whatever the model file says.
void printComment(llvm::raw_ostream &os, const char *what, llvm::StringRef text) {
  if (!text.empty())
    os << "// " << what << ": " << quoted(text) << '\n';
}

} // namespace

void print(const Graph &graph, llvm::raw_ostream &os) {
  os << kFirstLine << '\n';
  GraphPrinter(graph, os, 0).run();
}

void print(const Model &model, llvm::raw_ostream &os) {
  os << kFirstLine << '\n';
  printComment(os, "producer", model.producer);
  for (const std::string &warning : model.warnings)
    printComment(os, "warning", warning);
  GraphPrinter(model.graph, os, 0).run();
}

std::string str(const Graph &graph) {
  std::string text;
  llvm::raw_string_ostream os(text);
  print(graph, os);
  os.flush();
  return text;
}

} // namespace engine::ir
