#include "ir/text.h"

#include "ir/half.h"
#include "ir/text_names.h"

#include "llvm/ADT/StringExtras.h"

#include <charconv>
#include <cmath>
#include <cstring>

namespace engine::ir {

namespace {

// Characters of text, comments and the place for errors.
class Lexer {
public:
  explicit Lexer(llvm::StringRef text) : text_(text) {}

  size_t position() {
    skipSpace();
    return pos_;
  }

  [[noreturn]] void fail(size_t at, const std::string &what) const {
    throw locate(at, Error(what));
  }

  [[noreturn]] void failExpected(const std::string &expected) {
    const size_t at = position();
    fail(at, "expected " + expected + ", found " + describe(at));
  }

  // An error of somebody else's, at a place of this text, which is at fault.
  Error locate(size_t at, const Error &error) const {
    const llvm::StringRef before = text_.take_front(at);
    const size_t line = before.count('\n') + 1;
    const size_t column = at - (before.rfind('\n') + 1) + 1; // npos + 1 is 0
    Error located(error.what());
    located.at("line " + std::to_string(line) + ", column " + std::to_string(column));
    return located;
  }

  bool atEnd() { return position() == text_.size(); }

  char peek() { return atEnd() ? '\0' : text_[pos_]; }

  bool accept(llvm::StringRef token) {
    if (text_.drop_front(position()).take_front(token.size()).compare(token) != 0)
      return false;
    pos_ += token.size();
    return true;
  }

  void expect(llvm::StringRef token) {
    if (!accept(token))
      failExpected("'" + token.str() + "'");
  }

  // The word ahead, without taking it; empty where there is none.
  llvm::StringRef peekWord() {
    size_t end = position();
    if (end < text_.size() && isIdentifierStart(text_[end]))
      end = endOf(isIdentifierPart);
    return text_.slice(pos_, end);
  }

  bool acceptWord(llvm::StringRef wanted) {
    if (peekWord() != wanted)
      return false;
    pos_ += wanted.size();
    return true;
  }

  llvm::StringRef word(const char *what) {
    const llvm::StringRef found = peekWord();
    if (found.empty())
      failExpected(what);
    pos_ += found.size();
    return found;
  }

  std::string quotedString(const char *what) {
    const size_t start = position();
    if (peek() != '"')
      failExpected(what);
    std::optional<std::string> string = readQuoted(text_, pos_);
    if (!string)
      fail(start, "this string is malformed or does not end");
    return std::move(*string);
  }

  std::string valueName() {
    expect("%");
    if (pos_ < text_.size() && text_[pos_] == '"')
      return quotedString("a name");
    const size_t start = pos_;
    const size_t end = endOf(isValueNamePart);
    if (end == start)
      failExpected("the name of a value");
    pos_ = end;
    return text_.slice(start, end).str();
  }

  // Integers and floats, whole: T is what the number must fit.
  template <class T> T number(const char *what) {
    const size_t start = position();
    T value{};
    const char *const first = text_.data() + start;
    const auto [end, status] = std::from_chars(first, text_.data() + text_.size(), value);
    if (status == std::errc::result_out_of_range)
      fail(start, std::string(what) + " is out of range");
    if (status != std::errc())
      failExpected(what);
    pos_ = start + static_cast<size_t>(end - first);
    return value;
  }

  uint64_t hexNumber() {
    expect("0x");
    const size_t end = endOf([](char c) { return llvm::isHexDigit(c); });
    uint64_t value = 0;
    if (text_.slice(pos_, end).getAsInteger(16, value))
      failExpected("a hexadecimal number");
    pos_ = end;
    return value;
  }

  // The text up to a comma or closing bracket that belongs to something around it.
  llvm::StringRef expression() {
    const size_t start = position();
    int depth = 0;
    for (; pos_ < text_.size(); ++pos_) {
      const char c = text_[pos_];
      if (c == '"') {
        const size_t string = pos_;
        if (!readQuoted(text_, pos_))
          fail(string, "this string is malformed or does not end");
        --pos_;
      } else if (c == '(') {
        ++depth;
      } else if (depth == 0 && (c == ',' || c == ')' || c == ']' || c == '}' || c == '\n')) {
        break;
      } else if (c == ')') {
        --depth;
      }
    }
    return text_.slice(start, pos_);
  }

  // The characters of hex"..." behind its opening quote.
  llvm::StringRef untilQuote() {
    const size_t start = pos_;
    const size_t end = text_.find('"', start);
    if (end == llvm::StringRef::npos)
      fail(start, "this string does not end");
    pos_ = end + 1;
    return text_.slice(start, end);
  }

private:
  template <class Predicate> size_t endOf(Predicate belongs) const {
    size_t end = pos_;
    while (end < text_.size() && belongs(text_[end]))
      ++end;
    return end;
  }

  void skipSpace() {
    while (pos_ < text_.size()) {
      if (llvm::isSpace(text_[pos_]))
        ++pos_;
      else if (text_.substr(pos_, 2) == "//")
        pos_ = std::min(text_.find('\n', pos_), text_.size());
      else
        return;
    }
  }

  std::string describe(size_t at) const {
    return at < text_.size() ? "'" + text_.substr(at, 1).str() + "'" : "the end of the text";
  }

  llvm::StringRef text_;
  size_t pos_ = 0;
};

// --- Bytes of constants ---

int64_t countOf(Lexer &lexer, size_t at, llvm::ArrayRef<int64_t> dims) {
  int64_t count = 1;
  for (const int64_t dim : dims)
    if (dim < 0 || __builtin_mul_overflow(count, dim, &count) || count > INT64_MAX / 8)
      lexer.fail(at, "a constant has no such shape");
  return count;
}

class ElementReader {
public:
  ElementReader(Lexer &lexer, DType dtype, int64_t count)
      : lexer_(lexer), dtype_(dtype), bytes_(static_cast<size_t>(byteSize(dtype, count))) {}

  const std::vector<char> &bytes() const { return bytes_; }

  void read(int64_t i) {
    switch (dtype_) {
    case DType::kF32:
      return store(i, float32());
    case DType::kF64:
      return readF64(i);
    case DType::kF16:
      return readNarrow(i, floatToHalf);
    case DType::kBF16:
      return readNarrow(i, floatToBFloat16);
    case DType::kBool:
      return readBool(i);
    case DType::kI8:
      return store(i, lexer_.number<int8_t>("an i8"));
    case DType::kU8:
      return store(i, lexer_.number<uint8_t>("a u8"));
    case DType::kI16:
      return store(i, lexer_.number<int16_t>("an i16"));
    case DType::kU16:
      return store(i, lexer_.number<uint16_t>("a u16"));
    case DType::kI32:
      return store(i, lexer_.number<int32_t>("an i32"));
    case DType::kU32:
      return store(i, lexer_.number<uint32_t>("a u32"));
    case DType::kI64:
      return store(i, lexer_.number<int64_t>("an i64"));
    case DType::kU64:
      return store(i, lexer_.number<uint64_t>("a u64"));
    case DType::kI4:
      return readNibble(i, -8, 7);
    case DType::kU4:
      return readNibble(i, 0, 15);
    case DType::kUndefined:
      break;
    }
    throw Error::internal("an element without a type");
  }

  // A float field, or an element of type f32.
  static float float32(Lexer &lexer) {
    if (const std::optional<uint64_t> bits = nanBits(lexer))
      return detail::floatOf(static_cast<uint32_t>(*bits));
    return lexer.acceptWord("nan") ? detail::floatOf(0x7fc00000) : lexer.number<float>("a number");
  }

private:
  // nan(0x7fc00001)
  static std::optional<uint64_t> nanBits(Lexer &lexer) {
    if (!lexer.accept("nan("))
      return std::nullopt;
    const uint64_t bits = lexer.hexNumber();
    lexer.expect(")");
    return bits;
  }

  float float32() { return float32(lexer_); }

  template <class T> void store(int64_t i, T value) {
    std::memcpy(bytes_.data() + static_cast<size_t>(i) * sizeof(T), &value, sizeof(T));
  }

  void readF64(int64_t i) {
    if (const std::optional<uint64_t> bits = nanBits(lexer_))
      return store(i, *bits);
    if (lexer_.acceptWord("nan"))
      return store(i, uint64_t{0x7ff8000000000000});
    store(i, lexer_.number<double>("a number"));
  }

  void readNarrow(int64_t i, uint16_t (*round)(float)) {
    if (const std::optional<uint64_t> bits = nanBits(lexer_))
      return store(i, static_cast<uint16_t>(*bits));
    store(i, round(float32()));
  }

  void readBool(int64_t i) {
    const bool value = lexer_.acceptWord("true");
    if (!value && !lexer_.acceptWord("false"))
      lexer_.failExpected("true or false");
    store(i, static_cast<uint8_t>(value));
  }

  void readNibble(int64_t i, int64_t least, int64_t most) {
    const size_t at = lexer_.position();
    const int64_t value = lexer_.number<int64_t>("a 4-bit number");
    if (value < least || value > most)
      lexer_.fail(at, "expected a number from " + std::to_string(least) + " to " +
                          std::to_string(most) + ", found " + std::to_string(value));
    char &byte = bytes_[static_cast<size_t>(i / 2)];
    const int nibble = static_cast<int>(value & 15);
    byte = static_cast<char>(byte | (i % 2 == 0 ? nibble : nibble << 4));
  }

  Lexer &lexer_;
  DType dtype_;
  std::vector<char> bytes_;
};

// --- Graphs ---

// A type as the text gives it: contents may be left out.
struct ParsedType {
  bool given = false; // not '_'
  Fact fact;
};

class GraphParser {
public:
  GraphParser(Lexer &lexer, const DataResolver &resolve, int depth)
      : lexer_(lexer), resolve_(resolve), depth_(depth) {}

  // Statements up to a '}' or the end.
  Graph parse() {
    while (!lexer_.atEnd() && lexer_.peek() != '}') {
      if (lexer_.acceptWord("input"))
        parseInput();
      else if (lexer_.acceptWord("output"))
        parseOutput();
      else
        parseNode();
    }
    return builder_.finish();
  }

private:
  // --- Statements ---

  void parseInput() {
    const size_t at = lexer_.position();
    const std::string name = newName();
    lexer_.expect(":");
    Fact fact = type();
    const ValueId id = builder_.addInput(name, std::move(fact));
    checkName(at, name, builder_.value(id).name);
    if (!lexer_.acceptWord("default"))
      return;
    ConstRef value;
    read(value);
    builder_.setDefault(id, std::move(value));
  }

  void parseOutput() {
    const ValueId id = use();
    std::string name = builder_.value(id).name;
    if (lexer_.acceptWord("as"))
      name = lexer_.quotedString("the name of the output in quotes");
    builder_.addOutput(id, name);
  }

  void parseNode() {
    const size_t at = lexer_.position();
    llvm::SmallVector<std::string, 2> names;
    llvm::SmallVector<bool, 2> wanted;
    if (lexer_.peek() == '%' || lexer_.peekWord() == "_") {
      parseResults(names, wanted);
      lexer_.expect("=");
    }
    Op op = parseOp();
    const Values operands = parseOperands(op);
    parseFields(op);
    const size_t typesAt = lexer_.position();
    const std::vector<ParsedType> types = parseTypes();
    std::string nodeName = names.empty() ? "" : names.front();
    const bool named = lexer_.accept("@");
    if (named)
      nodeName = lexer_.quotedString("the node's name in quotes");
    const std::string onnx =
        lexer_.accept("#") ? lexer_.quotedString("the ONNX operator in quotes") : "";

    const size_t results = countResults(at, op);
    if (names.size() != results)
      lexer_.fail(at, std::string("operator '") + opName(op) + "' has " + std::to_string(results) +
                          " results, found " + std::to_string(names.size()));
    builder_.setOrigin(nodeName, onnx);
    const Values made = add(at, std::move(op), operands, names, wanted);
    const std::string &given = builder_.soFar().nodes().back().name;
    if (named && given != nodeName)
      lexer_.fail(at, "two nodes are called '" + nodeName + "'");
    for (size_t i = 0; i < made.size(); ++i)
      if (made[i].valid())
        checkName(at, names[i], builder_.value(made[i]).name);
    checkTypes(typesAt, types, made);
  }

  size_t countResults(size_t at, const Op &op) {
    try {
      return numResults(op);
    } catch (const Error &error) {
      throw lexer_.locate(at, error);
    }
  }

  Values add(size_t at, Op op, llvm::ArrayRef<ValueId> operands, llvm::ArrayRef<std::string> names,
             llvm::ArrayRef<bool> wanted) {
    try {
      return builder_.add(std::move(op), operands, "", names, wanted);
    } catch (const Error &error) {
      throw lexer_.locate(at, error);
    }
  }

  // --- Values ---

  std::string newName() {
    const size_t at = lexer_.position();
    const std::string name = lexer_.valueName();
    if (builder_.soFar().find(name).valid())
      lexer_.fail(at, "value '" + name + "' is made twice");
    return name;
  }

  void checkName(size_t at, const std::string &wanted, const std::string &given) {
    if (wanted != given)
      lexer_.fail(at, "value '" + wanted + "' is made twice");
  }

  ValueId use() {
    const size_t at = lexer_.position();
    const std::string name = lexer_.valueName();
    const ValueId id = builder_.soFar().find(name);
    if (!id.valid())
      lexer_.fail(at, "value '" + name + "' is used before it is made");
    return id;
  }

  void parseResults(llvm::SmallVectorImpl<std::string> &names,
                    llvm::SmallVectorImpl<bool> &wanted) {
    do {
      const bool absent = lexer_.acceptWord("_");
      names.push_back(absent ? "" : newName());
      wanted.push_back(!absent);
    } while (lexer_.accept(","));
  }

  // --- Operators ---

  Op parseOp() {
    const size_t at = lexer_.position();
    const llvm::StringRef name = lexer_.word("an operator");
    const Op *op = findOp(name);
    if (!op)
      lexer_.fail(at, "there is no operator '" + name.str() + "'");
    return *op;
  }

  Values parseOperands(const Op &op) {
    Values operands;
    if (!lexer_.accept("("))
      return operands;
    if (lexer_.accept(")"))
      return operands;
    do {
      parseOperand(op, operands);
    } while (lexer_.accept(","));
    lexer_.expect(")");
    return operands;
  }

  void parseOperand(const Op &op, Values &operands) {
    const size_t at = lexer_.position();
    if (lexer_.peek() == '%')
      return operands.push_back(use());
    if (lexer_.acceptWord("_"))
      return operands.push_back(kNoValue);
    const llvm::StringRef name = lexer_.word("an operand");
    const llvm::ArrayRef<OperandSpec> specs = operandSpecs(op);
    const auto *spec =
        llvm::find_if(specs, [&](const OperandSpec &candidate) { return candidate.name == name; });
    if (spec == specs.end() || spec->variadic)
      lexer_.fail(at,
                  std::string("operator '") + opName(op) + "' has no operand '" + name.str() + "'");
    const size_t index = static_cast<size_t>(spec - specs.begin());
    if (index < operands.size() && operands[index].valid())
      lexer_.fail(at, "operand '" + name.str() + "' is given twice");
    lexer_.expect("=");
    while (operands.size() <= index)
      operands.push_back(kNoValue);
    operands[index] = use();
  }

  void parseFields(Op &op) {
    if (!lexer_.accept("{"))
      return;
    llvm::SmallVector<std::string, 8> seen;
    do {
      const size_t at = lexer_.position();
      const std::string name = lexer_.word("a field").str();
      if (llvm::is_contained(seen, name))
        lexer_.fail(at, "field '" + name + "' is given twice");
      seen.push_back(name);
      lexer_.expect("=");
      if (!parseField(op, name))
        lexer_.fail(at, std::string("operator '") + opName(op) + "' has no field '" + name + "'");
    } while (lexer_.accept(","));
    lexer_.expect("}");
  }

  bool parseField(Op &op, llvm::StringRef wanted) {
    bool found = false;
    std::visit(
        [&](auto &fields) {
          using T = std::decay_t<decltype(fields)>;
          T::fields(fields, [&](const char *name, auto &value) {
            if (wanted != name)
              return;
            found = true;
            read(value);
          });
        },
        op);
    return found;
  }

  // --- Types ---

  std::vector<ParsedType> parseTypes() {
    std::vector<ParsedType> types;
    if (!lexer_.accept(":"))
      return types;
    do {
      ParsedType parsed;
      parsed.given = !lexer_.acceptWord("_");
      if (parsed.given)
        parsed.fact = type();
      types.push_back(std::move(parsed));
    } while (lexer_.accept(","));
    return types;
  }

  void checkTypes(size_t at, llvm::ArrayRef<ParsedType> types, llvm::ArrayRef<ValueId> made) {
    if (types.empty())
      return;
    if (types.size() != made.size())
      lexer_.fail(at, "expected " + std::to_string(made.size()) + " types, found " +
                          std::to_string(types.size()));
    for (size_t i = 0; i < made.size(); ++i) {
      if (types[i].given != made[i].valid())
        lexer_.fail(at, "result " + std::to_string(i) + " and its type: one of them is absent");
      if (made[i].valid())
        checkType(at, types[i].fact, builder_.value(made[i]));
    }
  }

  void checkType(size_t at, const Fact &given, const Value &value) {
    Fact inferred = value.fact;
    inferred.constant = nullptr;
    if (!given.contents)
      inferred.contents.reset();
    if (given != inferred)
      lexer_.fail(at, "value '" + value.name + "' is given as " + given.str() +
                          ", its operator makes it " + inferred.str());
  }

  Fact type() {
    if (lexer_.accept("?"))
      return Fact();
    DType dtype = DType::kUndefined;
    Shape shape;
    read(dtype);
    const size_t at = lexer_.position();
    read(shape);
    Fact fact = makeFact(dtype, shape);
    if (!lexer_.accept("="))
      return fact;
    fact.contents.emplace();
    readDims(*fact.contents, "{", "}");
    if (const std::optional<int64_t> count = constantCount(shape))
      if (*count != static_cast<int64_t>(fact.contents->size()))
        lexer_.fail(at, "a tensor of " + std::to_string(*count) + " elements is given " +
                            std::to_string(fact.contents->size()));
    return fact;
  }

  static std::optional<int64_t> constantCount(const Shape &shape) {
    int64_t count = 1;
    for (const Dim &dim : shape)
      if (!dim.isConstant() || __builtin_mul_overflow(count, *dim.constant(), &count))
        return std::nullopt;
    return count;
  }

  // --- Field values, one overload for each type ---

  void read(bool &value) {
    value = lexer_.acceptWord("true");
    if (!value && !lexer_.acceptWord("false"))
      lexer_.failExpected("true or false");
  }

  void read(int64_t &value) { value = lexer_.number<int64_t>("an integer"); }
  void read(float &value) { value = ElementReader::float32(lexer_); }
  void read(std::string &value) { value = lexer_.quotedString("a string in quotes"); }

  void read(Dim &value) {
    const size_t at = lexer_.position();
    const llvm::StringRef text = lexer_.expression();
    try {
      value = Dim::parse(text);
    } catch (const Error &error) {
      throw lexer_.locate(at, error);
    }
  }

  void read(Shape &value) { readDims(value, "[", "]"); }

  void readDims(llvm::SmallVectorImpl<Dim> &dims, const char *open, const char *close) {
    lexer_.expect(open);
    dims.clear();
    if (lexer_.accept(close))
      return;
    do {
      dims.emplace_back();
      read(dims.back());
    } while (lexer_.accept(","));
    lexer_.expect(close);
  }

  void read(Ints &value) {
    lexer_.expect("[");
    value.clear();
    if (lexer_.accept("]"))
      return;
    do {
      value.push_back(lexer_.number<int64_t>("an integer"));
    } while (lexer_.accept(","));
    lexer_.expect("]");
  }

  void read(DType &value) {
    const size_t at = lexer_.position();
    const llvm::StringRef name = lexer_.word("an element type");
    for (int i = 1; i < kNumDTypes; ++i) {
      value = static_cast<DType>(i);
      if (name == dtypeName(value))
        return;
    }
    lexer_.fail(at, "there is no element type '" + name.str() + "'");
  }

  template <class E>
  requires std::is_enum_v<E>
  void read(E &value) {
    const size_t at = lexer_.position();
    const llvm::StringRef name = lexer_.word("a name");
    const Names names = enumNames(E{});
    for (size_t i = 0; i < names.size(); ++i) {
      value = static_cast<E>(i);
      if (name == names[i])
        return;
    }
    lexer_.fail(at, "expected " + joined(names) + ", found '" + name.str() + "'");
  }

  static std::string joined(Names names) {
    std::string out;
    for (const char *name : names)
      out += (out.empty() ? "" : ", ") + std::string(name);
    return out;
  }

  void read(Band &band) {
    lexer_.expect("[");
    band.left = bandEnd();
    lexer_.expect(",");
    band.right = bandEnd();
    lexer_.expect("]");
  }

  int64_t bandEnd() {
    return lexer_.accept("..") ? Band::kOpen : lexer_.number<int64_t>("an integer or '..'");
  }

  void read(GraphRef &graph) {
    const size_t at = lexer_.position();
    if (!lexer_.acceptWord("graph"))
      lexer_.failExpected("'graph'");
    lexer_.expect("{");
    if (depth_ >= kMaxGraphNesting)
      lexer_.fail(at,
                  "graphs are nested deeper than " + std::to_string(kMaxGraphNesting) + " levels");
    graph = std::make_shared<Graph>(GraphParser(lexer_, resolve_, depth_ + 1).parse());
    lexer_.expect("}");
  }

  // --- Constants ---

  void read(ConstRef &data) {
    DType dtype = DType::kUndefined;
    Ints dims;
    const size_t at = lexer_.position();
    read(dtype);
    read(dims);
    const int64_t count = countOf(lexer_, at, dims);
    if (lexer_.acceptWord("data"))
      data = readFile(at, dtype, dims, byteSize(dtype, count));
    else if (lexer_.accept("hex\""))
      data = readHex(at, dtype, dims, byteSize(dtype, count));
    else
      data = readElements(dtype, dims, count);
  }

  ConstRef readElements(DType dtype, llvm::ArrayRef<int64_t> dims, int64_t count) {
    constexpr int64_t kMaxElements = 1 << 20; // the text holds them all; hex is for more
    lexer_.expect("{");
    const size_t at = lexer_.position();
    if (count > kMaxElements)
      lexer_.fail(at, "expected at most " + std::to_string(kMaxElements) + " elements in braces");
    ElementReader reader(lexer_, dtype, count);
    for (int64_t i = 0; i < count; ++i) {
      if (i != 0)
        lexer_.expect(",");
      reader.read(i);
    }
    lexer_.expect("}");
    return makeConst(dtype, dims, reader.bytes().data(), reader.bytes().size());
  }

  ConstRef readHex(size_t at, DType dtype, llvm::ArrayRef<int64_t> dims, int64_t bytes) {
    const llvm::StringRef digits = lexer_.untilQuote();
    if (digits.size() != 2 * static_cast<uint64_t>(bytes))
      lexer_.fail(at, "expected " + std::to_string(2 * bytes) + " hexadecimal digits, found " +
                          std::to_string(digits.size()));
    std::vector<char> data(static_cast<size_t>(bytes));
    for (size_t i = 0; i < data.size(); ++i) {
      const unsigned high = llvm::hexDigitValue(digits[2 * i]);
      const unsigned low = llvm::hexDigitValue(digits[2 * i + 1]);
      if (high > 15 || low > 15)
        lexer_.fail(at, "expected hexadecimal digits between the quotes");
      data[i] = static_cast<char>(high * 16 + low);
    }
    return makeConst(dtype, dims, data.data(), data.size());
  }

  ConstRef readFile(size_t at, DType dtype, llvm::ArrayRef<int64_t> dims, int64_t bytes) {
    lexer_.expect("(");
    const std::string file = lexer_.quotedString("the file's name in quotes");
    lexer_.expect(",");
    const uint64_t offset = lexer_.number<uint64_t>("an offset");
    lexer_.expect(",");
    const uint64_t size = lexer_.number<uint64_t>("a size");
    lexer_.expect(")");
    if (size != static_cast<uint64_t>(bytes))
      lexer_.fail(at, "the shape asks for " + std::to_string(bytes) +
                          " bytes, the file clause has " + std::to_string(size));
    if (!resolve_)
      lexer_.fail(at, "data in file '" + file + "' cannot be read here");
    try {
      return resolve_(file, offset, size, dtype, dims);
    } catch (const Error &error) {
      throw lexer_.locate(at, error);
    }
  }

  Lexer &lexer_;
  const DataResolver &resolve_;
  const int depth_;
  GraphBuilder builder_;
};

} // namespace

bool isEngineIr(llvm::StringRef text) {
  return text.take_front(text.find('\n')).rtrim() == kFirstLine;
}

Graph parseGraph(llvm::StringRef text, const DataResolver &resolve) {
  Lexer lexer(text);
  if (!isEngineIr(text))
    lexer.fail(0, std::string("the first line must be '") + kFirstLine + "'");
  lexer.expect(kFirstLine);
  Graph graph = GraphParser(lexer, resolve, 1).parse();
  if (!lexer.atEnd())
    lexer.failExpected("an input, a node or an output");
  return graph;
}

} // namespace engine::ir
