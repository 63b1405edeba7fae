#include "runtime/typical.h"

#include "frontend/quote.h"
#include "ir/dim.h"
#include "ir/error.h"
#include "runtime/elements.h"

#include "llvm/ADT/STLExtras.h"

#include <new>
#include <random>

namespace engine {

namespace {

enum class Meaning { kUnknown, kBatch, kSequence, kPast, kTotal };

bool holds(llvm::StringRef text, std::initializer_list<llvm::StringRef> parts) {
  return llvm::any_of(
      parts, [&](llvm::StringRef part) { return text.find(part) != llvm::StringRef::npos; });
}

Meaning meaningOf(llvm::StringRef symbol) {
  const std::string name = symbol.lower();
  if (name == "b" || holds(name, {"batch"}))
    return Meaning::kBatch;
  if (name == "t" || holds(name, {"total", "present", "nonpad"}))
    return Meaning::kTotal;
  if (name == "p" || holds(name, {"past", "cache_len", "write_ind"}))
    return Meaning::kPast;
  if (name == "s" || name == "l" || holds(name, {"seq", "token", "query", "len"}))
    return Meaning::kSequence;
  return Meaning::kUnknown;
}

std::optional<int64_t> sizeOf(Meaning meaning, const TypicalSizes &sizes) {
  switch (meaning) {
  case Meaning::kBatch:
    return sizes.batch;
  case Meaning::kSequence:
    return sizes.sequence;
  case Meaning::kPast:
    return sizes.past;
  case Meaning::kTotal:
    return sizes.past + sizes.sequence;
  case Meaning::kUnknown:
    break;
  }
  return std::nullopt;
}

// "past_sequence_length + 1", as exporters name dims.
std::optional<int64_t> sumOf(llvm::StringRef symbol, const TypicalSizes &sizes) {
  int64_t sum = 0;
  for (auto parts = symbol.split('+');; parts = parts.second.split('+')) {
    const llvm::StringRef part = parts.first.trim();
    int64_t number = 0;
    if (part.getAsInteger(10, number)) {
      const std::optional<int64_t> size = sizeOf(meaningOf(part), sizes);
      if (!size)
        return std::nullopt;
      number = *size;
    }
    sum += number;
    if (parts.second.empty())
      return sum;
  }
}

class FeedMaker {
public:
  FeedMaker(const llvm::StringMap<int64_t> &symbols, TypicalSizes sizes, uint64_t seed)
      : symbols_(symbols), sizes_(sizes), random_(seed) {}

  // Sets what static dims say about the sizes.
  void learn(const ValueInfo &input) {
    const std::string name = llvm::StringRef(input.name).lower();
    int64_t last = 0;
    if (holds(name, {"input_ids", "token"}) && !input.shape.empty() &&
        !llvm::StringRef(input.shape.back()).getAsInteger(10, last))
      sizes_.sequence = last;
  }

  Tensor make(const ValueInfo &input) {
    std::vector<int64_t> shape;
    for (const std::string &dim : input.shape)
      shape.push_back(evaluate(dim));
    Tensor tensor = Tensor::zeros(input.dtype, shape);
    if (!tensor.defined())
      throw std::bad_alloc();
    fill(tensor, llvm::StringRef(input.name).lower());
    return tensor;
  }

  std::vector<std::string> assumed;

private:
  int64_t evaluate(const std::string &text) {
    const ir::Dim dim = ir::Dim::parse(text);
    llvm::SmallVector<std::string, 2> names;
    dim.collectSymbols(names);
    for (const std::string &name : names) {
      if (symbols_.count(name))
        continue;
      const std::optional<int64_t> value = typicalValue(name, sizes_);
      if (!value)
        throw Error("its dim " + frontend::quoted(name) +
                    " is not known; give it with --set SYM=N");
      symbols_[name] = *value;
      assumed.push_back(name + " = " + std::to_string(*value));
    }
    const int64_t size = dim.evaluate(symbols_);
    if (size < 0)
      throw Error("its dim " + text + " is " + std::to_string(size));
    return size;
  }

  void fill(Tensor &tensor, llvm::StringRef name) {
    const DType dtype = tensor.dtype();
    const int64_t row = tensor.shape().empty() ? 1 : tensor.shape().back();
    if (isSubByte(dtype) || dtype == DType::kI8 || dtype == DType::kU8) {
      for (size_t i = 0; i < tensor.bytes(); ++i)
        tensor.as<uint8_t>()[i] = static_cast<uint8_t>(random_());
      return;
    }
    for (int64_t i = 0, n = tensor.count(); i < n; ++i) {
      if (isFloat(dtype))
        storeElement(dtype, tensor.data(), i, static_cast<float>(random_() >> 40) * 0x1p-23f - 1);
      else
        storeElement(dtype, tensor.data(), i, dtype == DType::kBool ? 1 : integer(name, i % row));
    }
  }

  int64_t integer(llvm::StringRef name, int64_t column) {
    if (holds(name, {"position"}))
      return sizes_.past + column;
    if (holds(name, {"mask"}))
      return 1;
    if (holds(name, {"seqlens"}))
      return std::max<int64_t>(0, sizes_.past + sizes_.sequence - 1);
    if (holds(name, {"ids", "token"}))
      return static_cast<int64_t>(random_() % 16);
    if (const std::optional<int64_t> length = typicalValue(name, sizes_))
      return *length;
    return static_cast<int64_t>(random_() % 2);
  }

  llvm::StringMap<int64_t> symbols_;
  TypicalSizes sizes_;
  std::mt19937_64 random_;
};

} // namespace

std::optional<int64_t> typicalValue(llvm::StringRef symbol, const TypicalSizes &sizes) {
  symbol.consume_front("$");
  if (symbol.lower().find("seqlens") != std::string::npos)
    return sizes.past + sizes.sequence - 1; // GroupQueryAttention counts from one token on
  return sumOf(symbol, sizes);
}

TypicalSizes agreeing(TypicalSizes sizes, const llvm::StringMap<int64_t> &symbols) {
  std::optional<int64_t> total;
  bool past = false;
  for (const auto &symbol : symbols)
    switch (meaningOf(symbol.first())) {
    case Meaning::kBatch:
      sizes.batch = symbol.second;
      break;
    case Meaning::kSequence:
      sizes.sequence = symbol.second;
      break;
    case Meaning::kPast:
      sizes.past = symbol.second;
      past = true;
      break;
    case Meaning::kTotal:
      total = symbol.second;
      break;
    case Meaning::kUnknown:
      break;
    }
  if (total && !past)
    sizes.past = std::max<int64_t>(0, *total - sizes.sequence);
  return sizes;
}

llvm::StringMap<int64_t> symbolsOf(llvm::ArrayRef<ValueInfo> inputs, const Tensors &feed) {
  llvm::StringMap<int64_t> symbols;
  for (const ValueInfo &input : inputs) {
    const auto given = feed.find(input.name);
    if (given == feed.end() || given->second.shape().size() != input.shape.size())
      continue;
    for (size_t axis = 0; axis < input.shape.size(); ++axis)
      if (const auto symbol = ir::Dim::parse(input.shape[axis]).asSymbol())
        symbols.try_emplace(*symbol, given->second.shape()[axis]);
  }
  return symbols;
}

RandomFeed randomFeed(llvm::ArrayRef<ValueInfo> inputs, const Tensors &given,
                      const llvm::StringMap<int64_t> &symbols, uint64_t seed) {
  llvm::StringMap<int64_t> known = symbolsOf(inputs, given);
  for (const auto &symbol : symbols)
    known[symbol.first()] = symbol.second;
  FeedMaker maker(known, agreeing({1, 4, 0}, known), seed);
  for (const ValueInfo &input : inputs)
    maker.learn(input);
  RandomFeed feed;
  for (const ValueInfo &input : inputs) {
    if (input.hasDefault || given.count(input.name))
      continue;
    try {
      feed.inputs[input.name] = maker.make(input);
    } catch (Error &error) {
      throw error.at("input " + frontend::quoted(input.name));
    }
  }
  feed.assumed = maker.assumed;
  return feed;
}

} // namespace engine
