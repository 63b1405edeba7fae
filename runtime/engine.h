// The public API: load an ONNX decoder, run it, keep its caches. Needs nothing but the standard
// library.
//
//   auto model = engine::Model::load("model.onnx");
//   if (!model) return fail(model.error().message);
//   auto session = engine::Session::create(*model);
//   engine::Tensors feed;
//   feed["input_ids"] = engine::Tensor::of<int64_t>({1, 3}, {1, 2, 3});
//   auto out = session->run(feed);   // ONNX contract: all inputs in, all outputs back
//   float *logits = (*out)["logits"].as<float>();
//
// Errors: nothing throws; every fallible call gives a Result. Thread safety: a Model is immutable
// and may be shared by any number of sessions and threads; a Session belongs to one thread at a
// time (cancel() excepted). Results are the same bits for the same inputs, options and thread
// count.
#pragma once

#include "ir/dtype.h"

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#if defined(_WIN32)
#define ENGINE_API
#else
#define ENGINE_API __attribute__((visibility("default")))
#endif

namespace engine {

// --- Errors ------------------------------------------------------------------------------------

struct Failure {
  enum class Kind {
    kRefused,     // the file, the feed or an option is at fault, or a mode is not supported
    kOutOfMemory, // the memory limit, or the machine's
    kCancelled,
    kInternal, // the engine is at fault: please report it
  };
  Kind kind = Kind::kRefused;
  // FILE: node 'NAME' (DOMAIN.OP): input 'X': what, and what was expected. Several refusals of a
  // model: one a line.
  std::string message;
};

template <class T> class Result {
public:
  Result(T value) : state_(std::move(value)) {}
  Result(Failure failure) : state_(std::move(failure)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  // Only when ok().
  T &value() & { return std::get<0>(state_); }
  const T &value() const & { return std::get<0>(state_); }
  T &&value() && { return std::get<0>(std::move(state_)); }
  T &operator*() & { return value(); }
  const T &operator*() const & { return value(); }
  T &&operator*() && { return std::get<0>(std::move(state_)); }
  T *operator->() { return &value(); }
  const T *operator->() const { return &value(); }
  // Only when not ok().
  const Failure &error() const { return std::get<1>(state_); }

private:
  std::variant<T, Failure> state_;
};

struct Done {}; // the value of calls that only succeed
using Status = Result<Done>;

// --- Tensors -----------------------------------------------------------------------------------

// A dense row-major tensor. Copies share the memory. f16 and bf16 elements are their 16 bits in a
// uint16_t; bool is one byte, 0 or 1; i4 and u4 are packed two a byte, the first in the low nibble.
class ENGINE_API Tensor {
public:
  Tensor() = default;
  // Zeroed memory that the tensor owns. A shape with a negative dim or too many bytes gives an
  // undefined tensor.
  static Tensor zeros(DType dtype, std::vector<int64_t> shape);
  // Memory that the caller owns and keeps alive: count(shape) elements.
  static Tensor borrow(DType dtype, std::vector<int64_t> shape, void *data);
  // As borrow, with an owner that is released with the last copy.
  static Tensor adopt(DType dtype, std::vector<int64_t> shape, void *data,
                      std::shared_ptr<void> owner);

  template <class T> static Tensor of(std::vector<int64_t> shape, const std::vector<T> &values) {
    Tensor t = zeros(dtypeOf<T>(), std::move(shape));
    assert(t.count() == static_cast<int64_t>(values.size()));
    if (!values.empty())
      std::memcpy(t.data(), values.data(), values.size() * sizeof(T));
    return t;
  }

  bool defined() const { return dtype_ != DType::kUndefined; }
  DType dtype() const { return dtype_; }
  const std::vector<int64_t> &shape() const { return shape_; }
  int64_t count() const;
  size_t bytes() const { return static_cast<size_t>(byteSize(dtype_, count())); }
  void *data() const { return data_; }
  template <class T> T *as() const { return static_cast<T *>(data_); }

  template <class T> static constexpr DType dtypeOf() {
    if constexpr (std::is_same_v<T, float>)
      return DType::kF32;
    else if constexpr (std::is_same_v<T, double>)
      return DType::kF64;
    else if constexpr (std::is_same_v<T, int64_t>)
      return DType::kI64;
    else if constexpr (std::is_same_v<T, int32_t>)
      return DType::kI32;
    else if constexpr (std::is_same_v<T, uint8_t>)
      return DType::kU8;
    else if constexpr (std::is_same_v<T, int8_t>)
      return DType::kI8;
    else {
      static_assert(std::is_same_v<T, bool>, "use borrow for this element type");
      return DType::kBool;
    }
  }

private:
  DType dtype_ = DType::kUndefined;
  std::vector<int64_t> shape_;
  void *data_ = nullptr;
  std::shared_ptr<void> owner_;
};

using Tensors = std::map<std::string, Tensor, std::less<>>;

// --- Models ------------------------------------------------------------------------------------

struct ValueInfo {
  std::string name;
  DType dtype = DType::kUndefined;
  std::vector<std::string> shape; // "batch", "8", "P + S"
  bool hasDefault = false;        // may be left out of a feed
  bool state = false; // an input: a cache that a session can keep; an output: what becomes of it
  std::string peer;   // of a state: the name of the output (input) that it becomes (was)
};

struct ModelOptions {
  std::string backend = "cpu"; // cpu, reference
  std::string isa; // base, avx2, avx512: the highest to use; empty: what the machine has
  std::map<std::string, int64_t> symbols; // dims to fix, by name
  std::vector<std::string> kernels;       // "sdpa:flash": must run for every node of that operator
  std::vector<std::string> disabledPasses;
  std::string stopAfter; // pass after which lowering ends
  std::string weights;   // folder of a dump's weight files
  bool exact = false;    // quantised weights as their exact dequantised values
  bool pack = true;      // keep weights in a faster layout beside the mapped file
  // Print and parse the graph after every pass, and go on with the parsed one.
  bool roundTrip = false;
};

namespace detail {
struct ModelImpl;
struct SessionImpl;
} // namespace detail

class ENGINE_API Model {
public:
  // An .onnx file or an `engine-ir 1` dump.
  static Result<Model> load(const std::string &path, const ModelOptions &options = {});
  // The same from memory; external data is looked for in `folder`, refused when it is empty.
  static Result<Model> load(const void *data, size_t bytes, const std::string &folder,
                            const ModelOptions &options = {});

  // In the file's order and with its names.
  const std::vector<ValueInfo> &inputs() const;
  const std::vector<ValueInfo> &outputs() const;
  // What the importer found odd but harmless.
  const std::vector<std::string> &warnings() const;
  // The lowered graph as text.
  std::string text() const;

  const detail::ModelImpl &impl() const { return *impl_; }

private:
  friend class Session;
  std::shared_ptr<const detail::ModelImpl> impl_;
};

// --- Sessions ----------------------------------------------------------------------------------

struct SessionOptions {
  int threads = 0;       // 0: all cores
  size_t maxMemory = 0;  // bytes of buffers of this session, caches included; 0: no limit
  int64_t cacheRows = 0; // capacity of kept caches in rows; 0: grows by doubling
};

class ENGINE_API Session {
public:
  static Result<Session> create(const Model &model, const SessionOptions &options = {});

  // The ONNX contract: every input without a default by name; every output comes back. `outputs`
  // may hold tensors of the caller for some outputs: they are written in place and must have the
  // right type and shape. Inputs are not changed.
  Result<Tensors> run(const Tensors &inputs, const Tensors &outputs = {});

  // A decoder's step: as run, but inputs that are states (ValueInfo::state) are left out: the
  // session keeps them, in place, and their outputs do not come back. The first step begins with
  // empty caches (a cache whose length is fixed by the model: zeros).
  Result<Tensors> step(const Tensors &inputs, const Tensors &outputs = {});

  // Rows in the kept caches whose length grows.
  int64_t length() const;
  // Forgets all but the first `rows` rows: to take tokens back, or 0 to begin anew.
  Status rewind(int64_t rows);
  void reset() { rewind(0); }

  // Gives a state its content, or reads it (dense, as the graph's output would be).
  Status setState(const std::string &inputName, const Tensor &value);
  Result<Tensor> state(const std::string &inputName) const;
  // Drops all but the last `rows` rows of a state that grows: for models whose caller has to bound
  // a cache.
  Status keepLast(const std::string &inputName, int64_t rows);

  // From any thread: the run in progress stops with Failure::kCancelled before its next node.
  // Cleared by the next call.
  void cancel();

  // Bytes held by this session's buffers.
  size_t memory() const;

  detail::SessionImpl &impl() { return *impl_; }

private:
  std::shared_ptr<detail::SessionImpl> impl_;
};

// --- Masks for external caches -----------------------------------------------------------------

// Graphs whose cache is written by TensorScatter and read whole take their mask as a float bias [B,
// 1, S, maxRows] over absolute cache rows. With p = positions[b, i], row j is visible to query i of
// entry b iff
//     j < valid[b]  and  not padding[b, j]
//     and  (j <= p  or  not causal  or  sameBlock)      sameBlock: blocks[b, j] == blocks[b, p] >=
//     0 and  (window == 0  or  j > p - window  or  (blocksIgnoreWindow and sameBlock))
// Blocks (the tokens of an image, say) see each other both ways.
struct AttentionBiasSpec {
  DType dtype = DType::kF32; // f32, f16, bf16
  int64_t maxRows = 0;       // the cache's capacity
  Tensor positions;          // i64 [B, S]: where each query stands; rows of the cache
  Tensor valid;              // i64 [B]: filled rows, this step's included (nonpad_kv_seqlen)
  bool causal = true;
  int64_t window = 0; // rows that a query sees, itself included; 0: all
  Tensor blocks;      // i64 [B, maxRows] or undefined: block of each row, negative for none
  bool blocksIgnoreWindow = false; // Gemma-3's rule; Gemma-4's windows hold inside blocks too
  Tensor padding;                  // bool [B, maxRows] or undefined: rows that nobody may see
};

// 0 where visible, -inf where not.
ENGINE_API Result<Tensor> makeAttentionBias(const AttentionBiasSpec &spec);

} // namespace engine
