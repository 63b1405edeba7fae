#include "frontend/wire.h"

#include "ir/graph.h"

#include <cstdint>
#include <limits>

namespace engine::frontend {

namespace {

enum WireType { kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kFixed32 = 5 };

// Messages on the way from a model to its tensors. kOther is copied as it stands.
enum class Message { kModel, kGraph, kFunction, kNode, kAttribute, kSparseTensor, kTensor, kOther };

struct Child {
  Message parent;
  uint32_t field;
  Message message;
};

// Field numbers of onnx-ml.proto.
constexpr Child kChildren[] = {
    {Message::kModel, 7, Message::kGraph},
    {Message::kModel, 25, Message::kFunction},
    {Message::kGraph, 1, Message::kNode},
    {Message::kGraph, 5, Message::kTensor},
    {Message::kGraph, 15, Message::kSparseTensor},
    {Message::kFunction, 7, Message::kNode},
    {Message::kFunction, 11, Message::kAttribute},
    {Message::kNode, 5, Message::kAttribute},
    {Message::kAttribute, 5, Message::kTensor},
    {Message::kAttribute, 6, Message::kGraph},
    {Message::kAttribute, 10, Message::kTensor},
    {Message::kAttribute, 11, Message::kGraph},
    {Message::kAttribute, 22, Message::kSparseTensor},
    {Message::kAttribute, 23, Message::kSparseTensor},
    {Message::kSparseTensor, 1, Message::kTensor},
    {Message::kSparseTensor, 2, Message::kTensor},
};
constexpr uint32_t kModelTraining = 20; // training_info: of no use here, left out
constexpr uint32_t kTensorSegment = 3;
constexpr uint32_t kTensorRawData = 9;
constexpr uint32_t kSegmentBegin = 1;
constexpr uint32_t kSegmentEnd = 2;

Message childOf(Message parent, uint32_t field) {
  for (const Child &child : kChildren)
    if (child.parent == parent && child.field == field)
      return child.message;
  return Message::kOther;
}

void appendVarint(std::string &out, uint64_t value) {
  while (value >= 0x80) {
    out += static_cast<char>(value | 0x80);
    value >>= 7;
  }
  out += static_cast<char>(value);
}

void appendKey(std::string &out, uint32_t field, WireType type) {
  appendVarint(out, uint64_t(field) << 3 | type);
}

// A length that is not known yet: five bytes whatever it turns out to be.
constexpr size_t kLengthBytes = 5;

void patchLength(std::string &out, size_t at) {
  uint64_t length = out.size() - at - kLengthBytes;
  for (size_t i = 0; i < kLengthBytes; ++i, length >>= 7) {
    const bool last = i + 1 == kLengthBytes;
    out[at + i] = static_cast<char>((length & 0x7f) | (last ? 0 : 0x80));
  }
}

class Slimmer {
public:
  explicit Slimmer(llvm::ArrayRef<char> model) : model_(model) {}

  std::string run() {
    copyMessage(Message::kModel, 0, model_.size(), 0);
    checkSize(0);
    return std::move(out_);
  }

private:
  Error malformed(const std::string &what, uint64_t at) const {
    return Error("is no ONNX model, or is damaged or cut short: " + what + " at byte " +
                 std::to_string(at));
  }

  uint64_t readVarint(uint64_t &at, uint64_t end) const {
    const uint64_t start = at;
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at == end)
        throw malformed("an integer that does not end", start);
      const uint64_t byte = static_cast<unsigned char>(model_[at++]);
      value |= (byte & 0x7f) << shift;
      if (!(byte & 0x80))
        return value;
    }
    throw malformed("an integer of more than 64 bits", start);
  }

  // Leaves `at` behind the payload of a field that is no message.
  void skipPayload(uint32_t wireType, uint64_t &at, uint64_t end, uint64_t fieldStart) const {
    uint64_t length = 0;
    switch (wireType) {
    case kVarint:
      readVarint(at, end);
      return;
    case kFixed64:
      length = 8;
      break;
    case kFixed32:
      length = 4;
      break;
    case kLengthDelimited:
      length = readVarint(at, end);
      break;
    default:
      throw malformed("a field of unknown kind", fieldStart);
    }
    if (length > end - at)
      throw malformed("a field longer than what is left", fieldStart);
    at += length;
  }

  void copyMessage(Message message, uint64_t begin, uint64_t end, int depth) {
    if (depth > ir::kMaxGraphNesting)
      throw Error("graphs are nested deeper than " + std::to_string(ir::kMaxGraphNesting) +
                  " levels");
    uint64_t at = begin;
    while (at < end)
      copyField(message, at, end, depth);
  }

  void copyField(Message message, uint64_t &at, uint64_t end, int depth) {
    const uint64_t start = at;
    const uint64_t key = readVarint(at, end);
    const uint32_t wireType = key & 7;
    const uint64_t field = key >> 3;
    if (field == 0 || field >= (uint64_t(1) << 29))
      throw malformed("a field without a number", start);
    const uint64_t payload = at;
    skipPayload(wireType, at, end, start);

    if (wireType == kLengthDelimited) {
      uint64_t content = payload;
      const uint64_t length = readVarint(content, end);
      if (message == Message::kModel && field == kModelTraining)
        return;
      if (message == Message::kTensor && field == kTensorRawData)
        return appendSegment(content, content + length);
      if (message == Message::kTensor && field == kTensorSegment)
        throw Error("a tensor is stored in segments, which is not supported");
      const Message child = childOf(message, static_cast<uint32_t>(field));
      if (child != Message::kOther)
        return copyChild(message, child, static_cast<uint32_t>(field), content, at, depth);
    }
    append(start, at);
  }

  void copyChild(Message parent, Message child, uint32_t field, uint64_t begin, uint64_t end,
                 int depth) {
    // The model's own graph is level 0.
    const bool nested = parent == Message::kAttribute && child == Message::kGraph;
    appendKey(out_, field, kLengthDelimited);
    const size_t lengthAt = out_.size();
    out_.append(kLengthBytes, '\0');
    copyMessage(child, begin, end, nested ? depth + 1 : depth);
    patchLength(out_, lengthAt);
  }

  void appendSegment(uint64_t begin, uint64_t end) {
    std::string segment;
    appendKey(segment, kSegmentBegin, kVarint);
    appendVarint(segment, begin);
    appendKey(segment, kSegmentEnd, kVarint);
    appendVarint(segment, end);
    appendKey(out_, kTensorSegment, kLengthDelimited);
    appendVarint(out_, segment.size());
    out_ += segment;
  }

  void checkSize(uint64_t more) const {
    if (out_.size() + more > uint64_t(std::numeric_limits<int32_t>::max()))
      throw Error("holds 2 GiB or more beside raw tensor data, which protobuf cannot read");
  }

  void append(uint64_t begin, uint64_t end) {
    checkSize(end - begin);
    out_.append(model_.data() + begin, end - begin);
  }

  llvm::ArrayRef<char> model_;
  std::string out_;
};

} // namespace

std::string withoutRawData(llvm::ArrayRef<char> model) { return Slimmer(model).run(); }

} // namespace engine::frontend
