#include "runtime/decoder_inputs.h"

#include "ir/error.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cmath>

namespace engine {

namespace {

using Role = DecoderInputs::Role;

struct NamedRole {
  const char *name; // the input's own, or its end behind a dot or underscore
  Role role;
};

constexpr NamedRole kNames[] = {
    {"input_ids", Role::kTokens},        {"tokens", Role::kTokens},
    {"attention_mask", Role::kMask},     {"attention_bias", Role::kMask},
    {"position_ids", Role::kPositions},  {"cache_position", Role::kPositions},
    {"write_indices", Role::kPast},      {"cumulative_length", Role::kPast},
    {"past_seq_len", Role::kPast},       {"past_sequence_length", Role::kPast},
    {"past_length", Role::kPast},        {"nonpad_kv_seqlen", Role::kTotal},
    {"total_seq_len", Role::kTotal},     {"total_sequence_length", Role::kTotal},
    {"seqlens_k", Role::kTotalMinusOne}, {"_sliding_window_tensor", Role::kConstant},
};

bool isIndexType(DType dtype) { return dtype == DType::kI32 || dtype == DType::kI64; }

std::string typeText(const ValueInfo &info) {
  std::string text = std::string(dtypeName(info.dtype)) + "[";
  for (size_t i = 0; i < info.shape.size(); ++i)
    text += (i ? ", " : "") + info.shape[i];
  return text + "]";
}

bool endsWithName(llvm::StringRef text, llvm::StringRef name) {
  if (text.size() < name.size() || text.substr(text.size() - name.size()) != name)
    return false;
  return text.size() == name.size() || name[0] == '_' ||
         text[text.size() - name.size() - 1] == '.' || text[text.size() - name.size() - 1] == '_';
}

// "past_key_values.0.key", "present.0.key", "input.cache.layers.0.keys" and their like without what
// tells before from after.
std::string plainName(llvm::StringRef name) {
  for (const char *prefix :
       {"input.", "output.", "updated_", "past_key_values", "present", "past"}) {
    const llvm::StringRef text = prefix;
    if (name.size() > text.size() && name.substr(0, text.size()) == text)
      return name.substr(text.size()).str();
  }
  return name.str();
}

const ValueInfo *outputFor(const std::vector<ValueInfo> &outputs, const std::string &input) {
  for (const ValueInfo &output : outputs)
    if (output.name != input && plainName(output.name) == plainName(input))
      return &output;
  return nullptr;
}

std::optional<Role> roleOf(const ValueInfo &info, const std::map<std::string, std::string> &names,
                           const std::vector<ValueInfo> &outputs) {
  std::string name = info.name;
  for (const auto &entry : names)
    if (entry.second == info.name)
      name = entry.first;
  for (const NamedRole &candidate : kNames)
    if (endsWithName(name, candidate.name))
      return candidate.role;
  if (info.shape.size() >= 3 && outputFor(outputs, info.name))
    return Role::kCache;
  return std::nullopt;
}

[[noreturn]] void refuse(const ValueInfo &info, const std::string &expected) {
  throw Error("got " + typeText(info) + ", expected " + expected).at("input '" + info.name + "'");
}

[[noreturn]] void refuseUnknown(const ValueInfo &info) {
  std::string names;
  for (const NamedRole &known : kNames)
    names += std::string(names.empty() ? "" : ", ") + known.name;
  throw Error(typeText(info) +
              " is not recognised; looked for a name that ends in one of: " + names +
              "; and for caches: past_key_values.N.key, key_cache.N, input.cache.layers.N.keys and "
              "outputs of like names")
      .at("input '" + info.name + "'");
}

Tensor integers(const ValueInfo &info, std::vector<int64_t> shape, llvm::ArrayRef<int64_t> cycle) {
  Tensor tensor = Tensor::zeros(info.dtype, std::move(shape));
  for (int64_t i = 0; i < tensor.count() && !cycle.empty(); ++i) {
    const int64_t value = cycle[static_cast<size_t>(i) % cycle.size()];
    if (info.dtype == DType::kI32)
      tensor.as<int32_t>()[i] = static_cast<int32_t>(value);
    else
      tensor.as<int64_t>()[i] = value;
  }
  return tensor;
}

// Shape with fixed dims as they are and others 1.
std::vector<int64_t> smallShape(const ValueInfo &info) {
  std::vector<int64_t> shape;
  for (size_t axis = 0; axis < info.shape.size(); ++axis)
    shape.push_back(fixedDim(info, axis).value_or(1));
  return shape;
}

Tensor flatMask(const ValueInfo &info, int64_t columns, int64_t visible) {
  Tensor mask = Tensor::zeros(info.dtype, {1, columns});
  for (int64_t i = 0; i < std::min(columns, visible); ++i) {
    if (info.dtype == DType::kI64)
      mask.as<int64_t>()[i] = 1;
    else if (info.dtype == DType::kI32)
      mask.as<int32_t>()[i] = 1;
    else if (info.dtype == DType::kF32)
      mask.as<float>()[i] = 1;
    else
      mask.as<uint8_t>()[i] = 1;
  }
  return mask;
}

// Columns are the rows of the cache from the first token on, or, where there are fewer, the last
// tokens.
Tensor causalMask(const ValueInfo &info, const DecoderStep &step, int64_t columns, int64_t window) {
  if (step.past + step.count > columns)
    window = 0;
  if (info.dtype == DType::kBool) {
    Tensor mask = Tensor::zeros(info.dtype, {1, 1, step.count, columns});
    for (int64_t s = 0; s < step.count; ++s) {
      const int64_t end = std::min(columns, step.past + s + 1);
      const int64_t begin = window > 0 ? std::max<int64_t>(0, end - window) : 0;
      std::fill_n(mask.as<uint8_t>() + s * columns + begin, end - begin, uint8_t{1});
    }
    return mask;
  }
  AttentionBiasSpec spec;
  spec.dtype = info.dtype;
  spec.maxRows = columns;
  spec.window = window;
  std::vector<int64_t> positions;
  for (int64_t s = 0; s < step.count; ++s)
    positions.push_back(step.past + s);
  spec.positions = Tensor::of<int64_t>({1, step.count}, positions);
  spec.valid = Tensor::of<int64_t>({1}, {step.past + step.count});
  Result<Tensor> bias = makeAttentionBias(spec);
  if (!bias)
    throw Error(bias.error().message).at("input '" + info.name + "'");
  return *bias;
}

} // namespace

std::optional<int64_t> fixedDim(const ValueInfo &info, size_t axis) {
  int64_t value = 0;
  if (axis >= info.shape.size() || llvm::StringRef(info.shape[axis]).getAsInteger(10, value))
    return std::nullopt;
  return value;
}

const ValueInfo *cacheInput(const std::vector<ValueInfo> &inputs, const std::string &output) {
  for (const ValueInfo &input : inputs)
    if (plainName(input.name) == plainName(output))
      return &input;
  return nullptr;
}

DecoderInputs::DecoderInputs(const Model &model, const std::map<std::string, std::string> &names,
                             int64_t window)
    : window_(window) {
  bool hasTokens = false;
  for (const ValueInfo &info : model.inputs()) {
    if (info.state) {
      hasCaches_ = true;
      // Rows of a [B, heads, rows, H] or [B, rows, channels] cache.
      const std::optional<int64_t> rows = fixedDim(info, info.shape.size() == 3 ? 1 : 2);
      if (rows && (capacity_ == 0 || *rows < capacity_))
        capacity_ = *rows;
      continue;
    }
    const std::optional<Role> role = roleOf(info, names, model.outputs());
    if (!role && info.hasDefault)
      continue;
    if (!role)
      refuseUnknown(info);
    Input input{info, *role, ""};
    if (const ValueInfo *next = outputFor(model.outputs(), info.name);
        next && (*role == Role::kConstant || *role == Role::kCache))
      input.next = next->name;
    check(input);
    hasTokens |= *role == Role::kTokens;
    hasCaches_ |= *role == Role::kCache;
    if (*role == Role::kTokens)
      fixedCount_ = fixedDim(info, 1).value_or(0);
    inputs_.push_back(std::move(input));
  }
  if (!hasTokens)
    throw Error("there is no input for token ids; looked for 'input_ids' or 'tokens', integers "
                "[batch, sequence]");
}

void DecoderInputs::check(const Input &input) const {
  const ValueInfo &info = input.info;
  const size_t rank = info.shape.size();
  const bool integer = isIndexType(info.dtype);
  switch (input.role) {
  case Role::kTokens:
    if (!integer || rank != 2 || fixedDim(info, 0).value_or(1) != 1)
      refuse(info, "integers [1, sequence]");
    return;
  case Role::kMask:
    if (!(rank == 2 && (integer || info.dtype == DType::kBool || info.dtype == DType::kF32)) &&
        !(rank == 4 && !integer))
      refuse(info, "a mask [batch, total], or of bools or floats [batch, 1, sequence, rows]");
    return;
  case Role::kPositions:
    if (!integer || rank < 1 || rank > 3)
      refuse(info, "positions [batch, sequence], [sequence] or [3, batch, sequence]");
    return;
  case Role::kPast:
  case Role::kTotal:
  case Role::kTotalMinusOne:
    if (!integer || rank > 2)
      refuse(info, "an integer, or one for each entry of the batch");
    return;
  case Role::kConstant:
  case Role::kCache:
    return;
  }
}

Tensors DecoderInputs::feed(const DecoderStep &step, int64_t cacheRows) const {
  Tensors tensors;
  for (const Input &input : inputs_)
    tensors[input.info.name] = value(input, step, cacheRows);
  return tensors;
}

Tensor DecoderInputs::value(const Input &input, const DecoderStep &step, int64_t cacheRows) const {
  const ValueInfo &info = input.info;
  const int64_t total = step.past + step.count;
  switch (input.role) {
  case Role::kTokens:
    return integers(info, {1, step.count}, llvm::ArrayRef<int64_t>(step.tokens, step.count));
  case Role::kMask: {
    const size_t last = info.shape.size() - 1;
    const int64_t columns = fixedDim(info, last).value_or(cacheRows > 0 ? cacheRows : total);
    return last == 1 ? flatMask(info, columns, total) : causalMask(info, step, columns, window_);
  }
  case Role::kPositions: {
    std::vector<int64_t> positions;
    for (int64_t i = 0; i < step.count; ++i)
      positions.push_back(step.past + i);
    std::vector<int64_t> shape = smallShape(info);
    shape.back() = step.count;
    return integers(info, shape, positions);
  }
  case Role::kPast:
    return integers(info, smallShape(info), {step.past});
  case Role::kTotal:
    return integers(info, smallShape(info), {total});
  case Role::kTotalMinusOne:
    return integers(info, smallShape(info), {total - 1});
  case Role::kConstant:
  case Role::kCache:
    break;
  }
  if (const auto carried = carried_.find(info.name); carried != carried_.end())
    return carried->second;
  std::vector<int64_t> shape = smallShape(info);
  const size_t rows = shape.size() == 3 ? 1 : 2;
  if (input.role == Role::kCache && !fixedDim(info, rows))
    shape[rows] = cacheRows;
  return Tensor::zeros(info.dtype, shape);
}

void DecoderInputs::carry(const Tensors &outputs) {
  for (const Input &input : inputs_) {
    const auto output = outputs.find(input.next);
    if (!input.next.empty() && output != outputs.end())
      carried_[input.info.name] = output->second;
  }
}

std::vector<std::string> DecoderInputs::with(Role role) const {
  std::vector<std::string> names;
  for (const Input &input : inputs_)
    if (input.role == role)
      names.push_back(input.info.name);
  return names;
}

} // namespace engine
