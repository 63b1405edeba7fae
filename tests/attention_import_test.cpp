// The attention importers as tables: a node and its inputs, the operators it becomes or why it is
// refused.
#include "frontend/load.h"
#include "ir/error.h"
#include "ir/text.h"
#include "tests/onnx_writer.h"

#include <doctest/doctest.h>

using namespace engine;
using namespace onnx_writer;

namespace {

struct In {
  const char *name; // of the operator's input, which is the graph input's too; "" leaves it out
  int64_t type = kFloat;
  std::vector<Dim> dims = {};
};

struct NodeCase {
  const char *domain, *type;
  int64_t opset;
  std::vector<In> inputs;
  std::vector<std::string> outputs;
  std::vector<Message> attributes;
};

ir::Model load(const NodeCase &c, frontend::Blockers &blockers) {
  Graph graph;
  std::vector<std::string> names;
  for (const In &in : c.inputs) {
    names.push_back(in.name);
    if (*in.name)
      graph.input(in.name, in.type, in.dims);
  }
  graph.node(c.type, names, c.outputs, {"n", c.domain, c.attributes});
  for (const std::string &output : c.outputs)
    if (!output.empty())
      graph.output(output);
  ModelOptions options;
  options.imports = {{c.domain, c.opset}};
  if (*c.domain)
    options.imports.push_back({"", 21});
  const std::string bytes = model(graph, options);
  return frontend::loadModel(llvm::ArrayRef<char>(bytes.data(), bytes.size()), "test.onnx", "", {},
                             blockers);
}

// Every blocker, one a line; "" if there is none.
std::string refusals(const NodeCase &c) {
  frontend::Blockers blockers;
  load(c, blockers);
  std::string text;
  for (const std::string &message : blockers.messages)
    text += (text.empty() ? "" : "\n") + message;
  return text;
}

// The operators that a node becomes: the graph's text without inputs, outputs, facts and origins.
std::string operators(const NodeCase &c) {
  frontend::Blockers blockers;
  const ir::Model model = load(c, blockers);
  if (!blockers.messages.empty())
    return blockers.messages[0];
  llvm::SmallVector<llvm::StringRef, 32> lines;
  const std::string all = ir::str(model.graph);
  llvm::StringRef(all).split(lines, '\n');
  std::string text = "\n";
  for (llvm::StringRef line : lines)
    if (line.startswith("%"))
      text += line.split(" : ").first.str() + "\n";
  return text;
}

bool contains(llvm::StringRef text, llvm::StringRef part) {
  return text.find(part) != llvm::StringRef::npos;
}

// --- Cases that the tables below vary ----------------------------------------------------------

constexpr int64_t kBfloat16 = 16, kDouble = 11;

// Two heads of 4, one KV head; decode over a past.
NodeCase gqa() {
  return {"com.microsoft",
          "GroupQueryAttention",
          1,
          {{"query", kFloat, {"B", "S", 8}},
           {"key", kFloat, {"B", "S", 4}},
           {"value", kFloat, {"B", "S", 4}},
           {"past_key", kFloat, {"B", 1, "P", 4}},
           {"past_value", kFloat, {"B", 1, "P", 4}},
           {"seqlens_k", kInt32, {"B"}},
           {"total_sequence_length", kInt32, {}}},
          {"out", "present_key", "present_value"},
          {attribute("num_heads", 2), attribute("kv_num_heads", 1)}};
}

NodeCase attention(int64_t opset = 24) {
  return {"",
          "Attention",
          opset,
          {{"Q", kFloat, {"B", 2, "S", 4}},
           {"K", kFloat, {"B", 1, "L", 4}},
           {"V", kFloat, {"B", 1, "L", 4}}},
          {"Y"},
          {}};
}

NodeCase multiHead() {
  return {"com.microsoft",
          "MultiHeadAttention",
          1,
          {{"query", kFloat, {"B", "S", 8}},
           {"key", kFloat, {"B", "L", 8}},
           {"value", kFloat, {"B", "L", 8}}},
          {"out"},
          {attribute("num_heads", 2)}};
}

NodeCase rotary() {
  return {"",
          "RotaryEmbedding",
          23,
          {{"X", kFloat, {"B", 2, "S", 4}},
           {"cos_cache", kFloat, {"M", 2}},
           {"sin_cache", kFloat, {"M", 2}},
           {"position_ids", kInt64, {"B", "S"}}},
          {"Y"},
          {}};
}

NodeCase scatter() {
  return {"",
          "TensorScatter",
          24,
          {{"past_cache", kFloat, {"B", 1, 8, 4}},
           {"update", kFloat, {"B", 1, "S", 4}},
           {"write_indices", kInt64, {"B"}}},
          {"present_cache"},
          {}};
}

NodeCase with(NodeCase c, size_t index, In in) {
  while (c.inputs.size() <= index)
    c.inputs.push_back({""});
  c.inputs[index] = std::move(in);
  return c;
}
NodeCase with(NodeCase c, Message extra) {
  c.attributes.push_back(std::move(extra));
  return c;
}
NodeCase withOutputs(NodeCase c, std::vector<std::string> outputs) {
  c.outputs = std::move(outputs);
  return c;
}

struct Refusal {
  std::string why;
  NodeCase node;
  std::string message; // "": it is accepted
};

void checkRefusals(llvm::ArrayRef<Refusal> cases) {
  for (const Refusal &c : cases) {
    CAPTURE(c.why);
    const std::string text = refusals(c.node);
    CAPTURE(text);
    CHECK((c.message.empty() ? text.empty() : contains(text, c.message)));
  }
}

} // namespace

TEST_CASE("GroupQueryAttention: what is refused") {
  const NodeCase windowed =
      with(with(gqa(), attribute("local_window_size", 4)), attribute("sliding_window_cache", 1));
  const NodeCase withRotary = with(
      with(with(gqa(), 7, {"cos_cache", kFloat, {"M", 2}}), 8, {"sin_cache", kFloat, {"M", 2}}),
      attribute("do_rotary", 1));
  NodeCase int8 = gqa();
  int8.inputs[3].type = int8.inputs[4].type = kInt8;
  int8 = with(with(int8, attribute("k_quant_type", "PER_TENSOR")),
              attribute("v_quant_type", "PER_TENSOR"));
  int8 = with(with(int8, 12, {"k_scale", kFloat, {1}}), 13, {"v_scale", kFloat, {1}});
  const NodeCase quantised = with(int8, attribute("kv_cache_bit_width", 8));
  const NodeCase ragged = with(gqa(), 16, {"query_seqlens", kInt32, {"B"}});
  const NodeCase noPast = with(with(gqa(), 3, {""}), 4, {""});

  const Refusal cases[] = {
      {"the plain case", gqa(), ""},
      {"no past", noPast, ""},
      {"present left out over a past", withOutputs(gqa(), {"out"}), ""},
      {"a window", with(gqa(), attribute("local_window_size", 0)), ""},
      {"the windowed cache", windowed, ""},
      {"rotary", withRotary, ""},
      {"an int8 cache", quantised, ""},
      {"query_seqlens", ragged, ""},
      {"seqlens_k (B,1)", with(gqa(), 5, {"seqlens_k", kInt32, {"B", 1}}), ""},
      {"total (1)", with(gqa(), 6, {"total_sequence_length", kInt32, {1}}), ""},
      {"a key of length 0",
       with(with(gqa(), 1, {"key", kFloat, {"B", 0, 4}}), 2, {"value", kFloat, {"B", 0, 4}}), ""},

      {"unknown attribute", with(gqa(), attribute("window_size", 4)), "attribute 'window_size'"},
      {"seqlens_k int64", with(gqa(), 5, {"seqlens_k", kInt64, {"B"}}),
       "input 'seqlens_k': type int64, expected int32"},
      {"seqlens_k scalar", with(gqa(), 5, {"seqlens_k", kInt32, {}}),
       "input 'seqlens_k': shape [], expected [B]"},
      {"seqlens_k of another batch",
       with(with(gqa(), 0, {"query", kFloat, {2, "S", 8}}), 5, {"seqlens_k", kInt32, {3}}),
       "input 'seqlens_k': shape [3], expected [2]"},
      {"total of two", with(gqa(), 6, {"total_sequence_length", kInt32, {2}}),
       "input 'total_sequence_length': shape [2], expected [] or [1]"},
      {"value missing", with(gqa(), 2, {""}),
       "input 'value': missing, expected as input 'key' is there"},
      {"past_value missing", with(gqa(), 4, {""}), "input 'past_value': missing"},
      {"past of another head count", with(gqa(), 3, {"past_key", kFloat, {"B", 2, "P", 4}}),
       "input 'past_key': shape [B, 2, P, 4], expected [B, 1, P, 4]"},
      {"key of another width", with(gqa(), 1, {"key", kFloat, {"B", "S", 8}}),
       "input 'key': shape [B, S, 8], expected [B, S, 4]"},
      {"key of another length",
       with(with(gqa(), 0, {"query", kFloat, {"B", 3, 8}}), 1, {"key", kFloat, {"B", 2, 4}}),
       "input 'key': shape [B, 2, 4], expected 3 rows"},
      {"heads that do not divide", with(with(gqa(), 0, {"query", kFloat, {"B", "S", 7}}), 1, {""}),
       "missing"},
      {"kv heads that do not divide",
       [] {
         NodeCase c = gqa();
         c.attributes = {attribute("num_heads", 2), attribute("kv_num_heads", 3)};
         return c;
       }(),
       "attribute 'kv_num_heads': value 3, expected a divisor of num_heads 2"},
      {"causal 2", with(gqa(), attribute("causal", 2)),
       "attribute 'causal': value 2, expected 0 or 1"},
      {"causal 0 with a window",
       with(with(gqa(), attribute("causal", 0)), attribute("local_window_size", 4)),
       "attribute 'local_window_size': value 4, expected -1 where causal is 0"},
      {"scores without an output", with(gqa(), attribute("qk_output", 1)),
       "attribute 'qk_output': value 1, expected 0"},
      {"one present only", withOutputs(gqa(), {"out", "present_key"}),
       "output 'present_value': missing"},
      {"bias of another batch",
       with(with(gqa(), 0, {"query", kFloat, {3, "S", 8}}), 10,
            {"attention_bias", kFloat, {2, 1, "S", "T"}}),
       "input 'attention_bias': shape [2, 1, S, T], expected [3 or 1, 2 or 1, S, "},
      {"bias of another type", with(gqa(), 10, {"attention_bias", kFloat16, {1, 1, "S", "T"}}),
       "input 'attention_bias': type float16, expected float"},
      {"sink of another size", with(gqa(), 11, {"head_sink", kFloat, {3}}),
       "input 'head_sink': shape [3], expected [2]"},
      {"rotary without caches", with(gqa(), attribute("do_rotary", 1)),
       "input 'cos_cache': missing, expected with do_rotary = 1"},
      {"caches that are too wide",
       with(with(gqa(), 7, {"cos_cache", kFloat, {"M", 3}}), 8, {"sin_cache", kFloat, {"M", 3}}),
       "input 'cos_cache': shape [M, 3], expected at most half the head size 4"},
      {"sin unlike cos", with(withRotary, 8, {"sin_cache", kFloat, {"M", 1}}),
       "input 'sin_cache': shape [M, 1], expected [M, 2]"},
      {"position_ids of another rank", with(gqa(), 9, {"position_ids", kInt64, {"S"}}),
       "input 'position_ids': shape [S], expected [B, S]"},
      {"a windowed cache without a window", with(gqa(), attribute("sliding_window_cache", 1)),
       "attribute 'sliding_window_cache': value 1, expected 0 where local_window_size is -1"},
      {"a windowed cache without a past", with(with(windowed, 3, {""}), 4, {""}),
       "input 'past_key': missing, expected with sliding_window_cache = 1"},
      {"a windowed cache below its window", with(windowed, 3, {"past_key", kFloat, {"B", 1, 3, 4}}),
       "input 'past_key': shape [B, 1, 3, 4], expected at least the 4 rows of the window"},
      {"a windowed cache with scores",
       withOutputs(with(windowed, attribute("qk_output", 1)), {"out", "pk", "pv", "qk"}),
       "attribute 'qk_output': value 1, expected 0 where sliding_window_cache is 1"},
      {"q_norm_weight alone", with(gqa(), 14, {"q_norm_weight", kFloat, {4}}),
       "input 'k_norm_weight': missing, expected as input 'q_norm_weight' is there"},
      {"query_seqlens of another rank", with(gqa(), 16, {"query_seqlens", kInt32, {"B", 1}}),
       "input 'query_seqlens': shape [B, 1], expected [B]"},
      {"query_seqlens without a past", with(with(ragged, 3, {""}), 4, {""}),
       "input 'past_key': missing, expected with input 'query_seqlens'"},
      {"query_seqlens without present", withOutputs(ragged, {"out"}),
       "output 'present_key': missing, expected with input 'query_seqlens'"},
      {"query_seqlens without causal", with(ragged, attribute("causal", 0)),
       "attribute 'causal': value 0, expected 1 with input 'query_seqlens'"},
      {"quantised without a width", int8,
       "attribute 'kv_cache_bit_width': value 0, expected 4 or 8"},
      {"4 bits in int8", with(int8, attribute("kv_cache_bit_width", 4)),
       "input 'past_key': type int8, expected uint8"},
      {"quantised without a scale", with(quantised, 12, {""}), "input 'k_scale': missing"},
      {"scale of another size", with(quantised, 13, {"v_scale", kFloat, {4}}),
       "input 'v_scale': shape [4], expected [1]"},
      {"a scale without quantisation", with(gqa(), 12, {"k_scale", kFloat, {1}}),
       "input 'k_scale': given, expected none where k_quant_type is NONE"},
      {"an int8 cache without quantisation",
       with(with(gqa(), 3, {"past_key", kInt8, {"B", 1, "P", 4}}), 4,
            {"past_value", kInt8, {"B", 1, "P", 4}}),
       "input 'past_key': type int8, expected float, float16 or bfloat16"},
  };
  checkRefusals(cases);
}

TEST_CASE("Attention: what is refused") {
  const NodeCase past = with(with(attention(), 4, {"past_key", kFloat, {"B", 1, "P", 4}}), 5,
                             {"past_value", kFloat, {"B", 1, "P", 4}});
  const NodeCase external = with(attention(), 6, {"nonpad_kv_seqlen", kInt64, {"B"}});
  NodeCase threeAxes = attention();
  threeAxes.inputs = {
      {"Q", kFloat, {"B", "S", 8}}, {"K", kFloat, {"B", "L", 4}}, {"V", kFloat, {"B", "L", 6}}};
  const auto mask = [](std::vector<Dim> dims, int64_t type = kFloat) {
    return with(attention(), 3, {"attn_mask", type, std::move(dims)});
  };
  const Refusal cases[] = {
      {"the plain case", attention(), ""},
      {"opset 23", attention(23), ""},
      {"f64", with(with(with(attention(), 0, {"Q", kDouble, {"B", 2, "S", 4}}), 1,
                        {"K", kDouble, {"B", 1, "L", 4}}),
                   2, {"V", kDouble, {"B", 1, "L", 4}}),
       ""},
      {"past, present left out", past, ""},
      {"external cache", external, ""},
      {"external cache with present outputs", withOutputs(external, {"Y", "pk", "pv"}), ""},
      {"one present only", withOutputs(attention(), {"Y", "pk"}), ""},
      {"V of another type", with(attention(), 2, {"V", kFloat16, {"B", 1, "L", 4}}), ""},
      {"V of another head size", with(attention(), 2, {"V", kFloat, {"B", 1, "L", 7}}), ""},
      {"3-D", with(with(threeAxes, attribute("q_num_heads", 2)), attribute("kv_num_heads", 1)), ""},
      {"head counts that agree", with(attention(), attribute("q_num_heads", 2)), ""},
      {"mask of rank 1", mask({"L"}), ""},
      {"bool mask of rank 2", mask({"S", "L"}, kBool), ""},
      {"mask of rank 3: heads first", mask({2, "S", "L"}), ""},
      {"mask of rank 4", mask({"B", 1, 1, 3}, kFloat16), ""},
      {"precision", with(attention(), attribute("softmax_precision", 16)), ""},

      {"mask of integers", mask({"S", "L"}, kInt32),
       "input 'attn_mask': type int32, expected bool or a float type"},
      {"mask of rank 5", mask({1, 1, 1, "S", "L"}),
       "input 'attn_mask': shape [1, 1, 1, S, L], expected rank 1 to 4"},
      {"mask of rank 0", mask({}), "input 'attn_mask': shape [], expected rank 1 to 4"},
      {"mask of another head count", mask({3, "S", "L"}),
       "input 'attn_mask': shape [3, S, L], expected [2 or 1, S or 1, at most L]"},
      {"mask longer than the keys",
       with(with(mask({"S", 9}), 1, {"K", kFloat, {"B", 1, 8, 4}}), 2, {"V", kFloat, {"B", 1, 8, 4}}),
       "input 'attn_mask': shape [S, 9], expected [S or 1, at most 8]"},
      {"past_value missing", with(past, 5, {""}),
       "input 'past_value': missing, expected as input 'past_key' is there"},
      {"nonpad with past", with(past, 6, {"nonpad_kv_seqlen", kInt64, {"B"}}),
       "input 'nonpad_kv_seqlen': given together with input 'past_key'"},
      {"nonpad (B,1)", with(attention(), 6, {"nonpad_kv_seqlen", kInt64, {"B", 1}}),
       "input 'nonpad_kv_seqlen': shape [B, 1], expected [B]"},
      {"nonpad int32", with(attention(), 6, {"nonpad_kv_seqlen", kInt32, {"B"}}),
       "input 'nonpad_kv_seqlen': type int32, expected int64"},
      {"3-D without heads", threeAxes, "attribute 'q_num_heads': missing"},
      {"head counts that do not agree", with(attention(), attribute("q_num_heads", 4)),
       "attribute 'q_num_heads': value 4, expected 2 as input 'Q' has"},
      {"heads that do not divide", with(with(attention(), 1, {"K", kFloat, {"B", 3, "L", 4}}), 2,
                                        {"V", kFloat, {"B", 3, "L", 4}}),
       "input 'K': 3 heads, expected a divisor of the query's 2"},
      {"K of another head size", with(attention(), 1, {"K", kFloat, {"B", 1, "L", 5}}),
       "input 'K': shape [B, 1, L, 5], expected [B, 1, L, 4]"},
      {"K of another type", with(attention(), 1, {"K", kFloat16, {"B", 1, "L", 4}}),
       "input 'K': type float16, expected float"},
      {"precision of another type", with(attention(), attribute("softmax_precision", 7)),
       "attribute 'softmax_precision': value 7, expected 1, 10, 11 or 16"},
      {"score mode", with(attention(), attribute("qk_matmul_output_mode", 4)),
       "attribute 'qk_matmul_output_mode': value 4, expected 0 to 3"},
      {"windows come with opset 25", with(attention(24), attribute("left_window_size", 4)),
       "attribute 'left_window_size'"},
      {"and do there", with(attention(25), attribute("left_window_size", 4)), ""},
      {"below -1", with(attention(25), attribute("right_window_size", -2)),
       "attribute 'right_window_size': value -2, expected at least -1"},
      {"no nonpad in opset 23",
       [] {
         NodeCase c = attention(23);
         return with(c, 6, {"nonpad_kv_seqlen", kInt64, {"B"}});
       }(),
       "nonpad_kv_seqlen"},
  };
  checkRefusals(cases);
}

TEST_CASE("MultiHeadAttention: what is refused") {
  const auto padding = [](std::vector<Dim> dims) {
    return with(multiHead(), 4, {"key_padding_mask", kInt32, std::move(dims)});
  };
  NodeCase packed = multiHead();
  packed.inputs = {{"query", kFloat, {"B", "S", 2, 3, 4}}};
  const Refusal cases[] = {
      {"the plain case", multiHead(), ""},
      {"packed", packed, ""},
      {"packed key", with(with(multiHead(), 1, {"key", kFloat, {"B", "L", 2, 2, 4}}), 2, {""}), ""},
      {"projected keys",
       with(with(multiHead(), 1, {"key", kFloat, {"B", 2, "L", 4}}), 2,
            {"value", kFloat, {"B", 2, "L", 4}}),
       ""},
      {"padding (B)", padding({"B"}), ""},
      {"padding (B, L)", padding({"B", "L"}), ""},
      {"padding (3 B + 2)",
       with(with(padding({8}), 0, {"query", kFloat, {2, "S", 8}}), 1, {"key", kFloat, {2, "L", 8}}),
       "input 'key_padding_mask': shape [8], expected [2]"},
      {"padding of rank 3", padding({"B", "S", "L"}),
       "input 'key_padding_mask': shape [B, S, L], expected [B] or [B, L]"},
      {"a filter value", with(multiHead(), attribute("mask_filter_value", -1.0f)),
       "attribute 'mask_filter_value': value -1.0"},
      {"past_sequence_length", with(multiHead(), 8, {"past_sequence_length", kInt32, {1}}),
       "input 'past_sequence_length': given, expected none"},
      {"cache_indirection", with(multiHead(), 9, {"cache_indirection", kInt32, {"B", 1, "L"}}),
       "input 'cache_indirection': given, expected none"},
      {"bias of another size", with(multiHead(), 3, {"bias", kFloat, {16}}),
       "input 'bias': shape [16], expected [24]"},
      {"key beside a packed query", with(packed, 1, {"key", kFloat, {"B", "L", 8}}),
       "input 'key': given, expected none as the query is packed"},
      {"no key", with(with(multiHead(), 1, {""}), 2, {""}), "input 'key'"},
  };
  checkRefusals(cases);
}

TEST_CASE("RotaryEmbedding and TensorScatter: what is refused") {
  NodeCase threeAxes = with(rotary(), 0, {"X", kFloat, {"B", "S", 8}});
  NodeCase microsoft = {"com.microsoft",
                        "RotaryEmbedding",
                        1,
                        {{"input", kFloat, {"B", "S", 8}},
                         {"position_ids", kInt64, {1}},
                         {"cos_cache", kFloat, {"M", 2}},
                         {"sin_cache", kFloat, {"M", 2}}},
                        {"output"},
                        {}};
  const Refusal cases[] = {
      {"4-D", rotary(), ""},
      {"3-D", with(threeAxes, attribute("num_heads", 2)), ""},
      {"rows of their own",
       with(with(with(rotary(), 1, {"cos_cache", kFloat, {"B", "S", 2}}), 2,
                 {"sin_cache", kFloat, {"B", "S", 2}}),
            3, {""}),
       ""},
      {"an offset", microsoft, ""},
      {"3-D without heads", threeAxes, "attribute 'num_heads': missing"},
      {"an odd head size", with(rotary(), 0, {"X", kFloat, {"B", 2, "S", 5}}),
       "input 'X': head size 5, expected an even number"},
      {"an odd part", with(rotary(), attribute("rotary_embedding_dim", 3)),
       "attribute 'rotary_embedding_dim': value 3, expected an even number"},
      {"more than there is", with(rotary(), attribute("rotary_embedding_dim", 6)),
       "attribute 'rotary_embedding_dim': value 6, expected at most the head size 4"},
      {"caches of another width", with(rotary(), attribute("rotary_embedding_dim", 2)),
       "input 'cos_cache': shape [M, 2], expected [M, 1]"},
      {"caches without positions", with(rotary(), 3, {""}),
       "input 'cos_cache': shape [M, 2], expected [B, S, 2]"},
      {"packed batching", with(microsoft, attribute("is_packed_batching", 1)),
       "attribute 'is_packed_batching': value 1, expected 0"},
      {"a scale", with(microsoft, attribute("scale", 0.5f)), "attribute 'scale': value 0.5"},
      {"positions (3)", with(microsoft, 1, {"position_ids", kInt64, {3}}),
       "input 'position_ids': shape [3], expected [1]"},

      {"linear", scatter(), ""},
      {"circular", with(scatter(), attribute("mode", "circular")), ""},
      {"bf16",
       with(with(scatter(), 0, {"past_cache", kBfloat16, {"B", 8, 4}}), 1,
            {"update", kBfloat16, {"B", "S", 4}}),
       ""},
      {"another mode", with(scatter(), attribute("mode", "ring")),
       "attribute 'mode': value 'ring', expected linear or circular"},
      {"the batch axis", with(scatter(), attribute("axis", 0)), "attribute 'axis': value 0"},
      {"beyond the rank", with(scatter(), attribute("axis", 4)), "attribute 'axis': value 4"},
      {"more rows than the cache has", with(scatter(), 1, {"update", kFloat, {"B", 1, 9, 4}}),
       "input 'update': shape [B, 1, 9, 4], expected [B, 1, at most 8, 4]"},
      {"another width", with(scatter(), 1, {"update", kFloat, {"B", 1, "S", 5}}),
       "input 'update': shape [B, 1, S, 5], expected [B, 1, S, 4]"},
  };
  checkRefusals(cases);
}

struct Becomes {
  std::string why;
  NodeCase node;
  std::string expected;
};

TEST_CASE("what the operators become") {
  NodeCase packed = gqa();
  packed.inputs[0].dims = {"B", "S", 16};
  packed = with(with(packed, 1, {""}), 2, {""});
  packed =
      with(with(with(packed, 7, {"cos_cache", kFloat, {32, 2}}), 8, {"sin_cache", kFloat, {32, 2}}),
           attribute("do_rotary", 1));
  NodeCase windowed =
      with(with(gqa(), attribute("local_window_size", 4)), attribute("sliding_window_cache", 1));
  windowed = with(windowed, 10, {"attention_bias", kFloat, {1, 1, "S", "T"}});
  NodeCase ragged =
      with(with(gqa(), 16, {"query_seqlens", kInt32, {"B"}}), 11, {"head_sink", kFloat, {2}});
  ragged = with(ragged, attribute("softcap", 30.0f));
  NodeCase int4 = gqa();
  for (size_t i : {3, 4})
    int4.inputs[i] = {i == 3 ? "past_key" : "past_value", kUint8, {"B", 1, "P", 2}};
  int4 = with(with(int4, 12, {"k_scale", kFloat, {1}}), 13, {"v_scale", kFloat, {1}});
  int4 = with(with(with(int4, attribute("k_quant_type", "PER_TENSOR")),
                   attribute("v_quant_type", "PER_TENSOR")),
              attribute("kv_cache_bit_width", 4));
  NodeCase prompt = withOutputs(with(with(gqa(), 3, {""}), 4, {""}),
                                {"out", "present_key", "present_value", "qk"});
  prompt = with(prompt, attribute("qk_output", 2));
  const NodeCase borrowed =
      with(with(gqa(), 1, {"key", kFloat, {"B", 0, 4}}), 2, {"value", kFloat, {"B", 0, 4}});

  NodeCase past = with(with(attention(25), 4, {"past_key", kFloat, {"B", 1, "P", 4}}), 5,
                       {"past_value", kFloat, {"B", 1, "P", 4}});
  past = with(withOutputs(past, {"Y", "present_key", "present_value", "scores"}),
              attribute("is_causal", 1));
  past = with(with(past, attribute("left_window_size", 7)), attribute("qk_matmul_output_mode", 2));
  NodeCase external = with(with(attention(), 6, {"nonpad_kv_seqlen", kInt64, {"B"}}), 3,
                           {"attn_mask", kBool, {2, "S", "M"}});
  external.inputs[0].dims = {"B", "S", 8};
  external.inputs[1].dims = external.inputs[2].dims = {"B", "L", 4};
  external = with(with(external, attribute("q_num_heads", 2)), attribute("kv_num_heads", 1));
  NodeCase heads = with(with(multiHead(), 3, {"bias", kFloat, {24}}), 4,
                        {"key_padding_mask", kInt32, {"B", "L"}});
  heads = with(heads, attribute("unidirectional", 1));
  const NodeCase offset = {"com.microsoft",
                           "RotaryEmbedding",
                           1,
                           {{"input", kFloat, {"B", "S", 8}},
                            {"position_ids", kInt64, {1}},
                            {"cos_cache", kFloat, {32, 2}},
                            {"sin_cache", kFloat, {32, 2}}},
                           {"output"},
                           {}};
  const Becomes cases[] = {
      {"GQA, packed, rotary, over a past", packed, R"(
%n.qkv_heads = reshape(%query) {dims=[B, S, 4, 4]}
%n.q_heads = slice(%n.qkv_heads) {axis=2, length=2}
%n.k_heads = slice(%n.qkv_heads) {axis=2, start=2, length=1}
%n.v_heads = slice(%n.qkv_heads) {axis=2, start=3, length=1}
%n.q = transpose(%n.q_heads) {perm=[0, 2, 1, 3]}
%n.k = transpose(%n.k_heads) {perm=[0, 2, 1, 3]}
%n.v = transpose(%n.v_heads) {perm=[0, 2, 1, 3]}
%n.lengths, _, %n.lengths.keyLen, %n.lengths.writeStart, _, _ = cache_lengths(seqlens=%seqlens_k, total=%total_sequence_length) {batch=B, queries=S, new_rows=S, past_capacity=P, rope_rows=32, has_past=true}
%n.rope_q = apply_rope(x=%n.q, cos=%cos_cache, sin=%sin_cache, start=%n.lengths)
%n.rope_k = apply_rope(x=%n.k, cos=%cos_cache, sin=%sin_cache, start=%n.lengths)
%present_key = kv_write(cache=%past_key, update=%n.rope_k, start=%n.lengths.writeStart) {capacity=max($total_sequence_length, P), tail=zero}
%present_value = kv_write(cache=%past_value, update=%n.v, start=%n.lengths.writeStart) {capacity=max($total_sequence_length, P), tail=zero}
%n.sdpa, _ = sdpa(q=%n.rope_q, k=%present_key, v=%present_value, queryStart=%n.lengths, keyLen=%n.lengths.keyLen) {scale=0.5, band=[.., 0]}
%n.output_rows = transpose(%n.sdpa) {perm=[0, 2, 1, 3]}
%out = reshape(%n.output_rows) {dims=[B, S, 8]}
)"},
      {"GQA, windowed cache: present comes after its last reader", windowed, R"(
%n.q_heads = reshape(%query) {dims=[B, S, 2, 4]}
%n.k_heads = reshape(%key) {dims=[B, S, 1, 4]}
%n.v_heads = reshape(%value) {dims=[B, S, 1, 4]}
%n.q = transpose(%n.q_heads) {perm=[0, 2, 1, 3]}
%n.k = transpose(%n.k_heads) {perm=[0, 2, 1, 3]}
%n.v = transpose(%n.v_heads) {perm=[0, 2, 1, 3]}
%n.check_attention_bias = check_dims(%attention_bias) {item="input 'attention_bias'", actual=[1, 1, S, T], expected=[B, 2, S, $total_sequence_length], or_one=[0, 1]}
%n.lengths, %n.lengths.queryLen, %n.lengths.keyLen, _, %n.lengths.keyStart, %n.lengths.split = cache_lengths(seqlens=%seqlens_k, total=%total_sequence_length) {batch=B, queries=S, new_rows=S, past_capacity=P, rope_rows=-1, window=4, windowed=true, has_past=true}
%n.sdpa, _ = sdpa(q=%n.q, k=%past_key, v=%past_value, kNew=%n.k, vNew=%n.v, bias=%n.check_attention_bias, queryStart=%n.lengths, keyLen=%n.lengths.keyLen, keyStart=%n.lengths.keyStart, split=%n.lengths.split) {scale=0.5, band=[3, 0]}
%n.output_rows = transpose(%n.sdpa) {perm=[0, 2, 1, 3]}
%out = reshape(%n.output_rows) {dims=[B, S, 8]}
%present_key = kv_evict(%past_key, %n.k, %n.lengths.split, %n.lengths.keyStart, %n.lengths.queryLen) {window=4}
%present_value = kv_evict(%past_value, %n.v, %n.lengths.split, %n.lengths.keyStart, %n.lengths.queryLen) {window=4}
)"},
      {"GQA, ragged chunk, sink, softcap", ragged, R"(
%n.q_heads = reshape(%query) {dims=[B, S, 2, 4]}
%n.k_heads = reshape(%key) {dims=[B, S, 1, 4]}
%n.v_heads = reshape(%value) {dims=[B, S, 1, 4]}
%n.q = transpose(%n.q_heads) {perm=[0, 2, 1, 3]}
%n.k = transpose(%n.k_heads) {perm=[0, 2, 1, 3]}
%n.v = transpose(%n.v_heads) {perm=[0, 2, 1, 3]}
%n.lengths, %n.lengths.queryLen, %n.lengths.keyLen, %n.lengths.writeStart, _, _ = cache_lengths(seqlens=%seqlens_k, total=%total_sequence_length, querySeqlens=%query_seqlens) {batch=B, queries=S, new_rows=S, past_capacity=P, rope_rows=-1, has_past=true}
%present_key = kv_write(cache=%past_key, update=%n.k, start=%n.lengths.writeStart, len=%n.lengths.queryLen) {capacity=max($total_sequence_length, P), tail=zero}
%present_value = kv_write(cache=%past_value, update=%n.v, start=%n.lengths.writeStart, len=%n.lengths.queryLen) {capacity=max($total_sequence_length, P), tail=zero}
%n.sdpa, _ = sdpa(q=%n.q, k=%present_key, v=%present_value, sink=%head_sink, queryStart=%n.lengths, queryLen=%n.lengths.queryLen, keyLen=%n.lengths.keyLen) {scale=0.5, softcap=30, band=[.., 0]}
%n.output_rows = transpose(%n.sdpa) {perm=[0, 2, 1, 3]}
%out = reshape(%n.output_rows) {dims=[B, S, 8]}
)"},
      {"GQA, int4 cache", int4, R"(
%n.q_heads = reshape(%query) {dims=[B, S, 2, 4]}
%n.k_heads = reshape(%key) {dims=[B, S, 1, 4]}
%n.v_heads = reshape(%value) {dims=[B, S, 1, 4]}
%n.q = transpose(%n.q_heads) {perm=[0, 2, 1, 3]}
%n.k = transpose(%n.k_heads) {perm=[0, 2, 1, 3]}
%n.v = transpose(%n.v_heads) {perm=[0, 2, 1, 3]}
%n.k_scale = reshape(%k_scale) {dims=[1]}
%n.v_scale = reshape(%v_scale) {dims=[1]}
%n.lengths, _, %n.lengths.keyLen, %n.lengths.writeStart, _, _ = cache_lengths(seqlens=%seqlens_k, total=%total_sequence_length) {batch=B, queries=S, new_rows=S, past_capacity=P, rope_rows=-1, has_past=true}
%n.k_codes = kv_quantize(%n.k, %n.k_scale) {bits=4}
%n.v_codes = kv_quantize(%n.v, %n.v_scale) {bits=4}
%present_key = kv_write(cache=%past_key, update=%n.k_codes, start=%n.lengths.writeStart) {capacity=max($total_sequence_length, P), tail=zero}
%present_value = kv_write(cache=%past_value, update=%n.v_codes, start=%n.lengths.writeStart) {capacity=max($total_sequence_length, P), tail=zero}
%n.sdpa, _ = sdpa(q=%n.q, k=%present_key, v=%present_value, kScale=%n.k_scale, vScale=%n.v_scale, queryStart=%n.lengths, keyLen=%n.lengths.keyLen) {scale=0.5, band=[.., 0]}
%n.output_rows = transpose(%n.sdpa) {perm=[0, 2, 1, 3]}
%out = reshape(%n.output_rows) {dims=[B, S, 8]}
)"},
      {"GQA, no past: the new rows are the cache", prompt, R"(
%n.q_heads = reshape(%query) {dims=[B, S, 2, 4]}
%n.k_heads = reshape(%key) {dims=[B, S, 1, 4]}
%n.v_heads = reshape(%value) {dims=[B, S, 1, 4]}
%n.q = transpose(%n.q_heads) {perm=[0, 2, 1, 3]}
%n.k = transpose(%n.k_heads) {perm=[0, 2, 1, 3]}
%n.v = transpose(%n.v_heads) {perm=[0, 2, 1, 3]}
%n.lengths, _, %n.lengths.keyLen, _, _, _ = cache_lengths(seqlens=%seqlens_k, total=%total_sequence_length) {batch=B, queries=S, new_rows=S, rope_rows=-1}
%n.sdpa, %qk = sdpa(q=%n.q, k=%n.k, v=%n.v, queryStart=%n.lengths, keyLen=%n.lengths.keyLen) {scale=0.5, band=[.., 0], scores=probabilities, score_columns=$total_sequence_length}
%n.output_rows = transpose(%n.sdpa) {perm=[0, 2, 1, 3]}
%out = reshape(%n.output_rows) {dims=[B, S, 8]}
)"},
      {"GQA, borrowed cache: read as it is", borrowed, R"(
%n.q_heads = reshape(%query) {dims=[B, S, 2, 4]}
%n.k_heads = reshape(%key) {dims=[B, 0, 1, 4]}
%n.v_heads = reshape(%value) {dims=[B, 0, 1, 4]}
%n.q = transpose(%n.q_heads) {perm=[0, 2, 1, 3]}
%n.k = transpose(%n.k_heads) {perm=[0, 2, 1, 3]}
%n.v = transpose(%n.v_heads) {perm=[0, 2, 1, 3]}
%n.lengths, _, %n.lengths.keyLen, %n.lengths.writeStart, _, _ = cache_lengths(seqlens=%seqlens_k, total=%total_sequence_length) {batch=B, queries=S, past_capacity=P, rope_rows=-1, has_past=true}
%n.sdpa, _ = sdpa(q=%n.q, k=%past_key, v=%past_value, queryStart=%n.lengths, keyLen=%n.lengths.keyLen) {scale=0.5, band=[.., 0]}
%n.output_rows = transpose(%n.sdpa) {perm=[0, 2, 1, 3]}
%out = reshape(%n.output_rows) {dims=[B, S, 8]}
%present_key = kv_write(cache=%past_key, update=%n.k, start=%n.lengths.writeStart) {capacity=max($total_sequence_length, P), tail=zero}
%present_value = kv_write(cache=%past_value, update=%n.v, start=%n.lengths.writeStart) {capacity=max($total_sequence_length, P), tail=zero}
)"},
      {"Attention 25 with past, window and scores", past, R"(
%present_key = kv_write(cache=%past_key, update=%K) {capacity=L + P, offset=P}
%present_value = kv_write(cache=%past_value, update=%V) {capacity=L + P, offset=P}
%Y, %scores = sdpa(q=%Q, k=%present_key, v=%present_value) {scale=0.5, band=[7, 0], offset=P, scores=biased, score_columns=L + P}
)"},
      {"Attention over an external cache, 3-D", external, R"(
%n.q_heads = reshape(%Q) {dims=[B, S, 2, 4]}
%n.q = transpose(%n.q_heads) {perm=[0, 2, 1, 3]}
%n.k_heads = reshape(%K) {dims=[B, L, 1, 4]}
%n.k = transpose(%n.k_heads) {perm=[0, 2, 1, 3]}
%n.v_heads = reshape(%V) {dims=[B, L, 1, 4]}
%n.v = transpose(%n.v_heads) {perm=[0, 2, 1, 3]}
%n.check_attn_mask = check_dims(%attn_mask) {item="input 'attn_mask'", actual=[2, S, M], expected=[2, S, L], or_one=[0, 1], or_less=[2]}
%n.key_lengths = check_lengths(%nonpad_kv_seqlen) {item="input 'nonpad_kv_seqlen'", limit=L}
%n.mask_4d = reshape(%n.check_attn_mask) {dims=[1, 2, S, M]}
%n.sdpa, _ = sdpa(q=%n.q, k=%n.k, v=%n.v, mask=%n.mask_4d, keyLen=%n.key_lengths) {scale=0.5, anchor=key_end}
%n.merged_rows = transpose(%n.sdpa) {perm=[0, 2, 1, 3]}
%Y = reshape(%n.merged_rows) {dims=[B, S, 8]}
)"},
      {"MultiHeadAttention with projection bias and padding", heads, R"(
%n.q_heads = reshape(%query) {dims=[B, S, 2, 4]}
%n.k_heads = reshape(%key) {dims=[B, L, 2, 4]}
%n.v_heads = reshape(%value) {dims=[B, L, 2, 4]}
%n.q_bias_part = slice(%bias) {length=8}
%n.q_bias = reshape(%n.q_bias_part) {dims=[2, 4]}
%n.q_biased = binary(%n.q_heads, %n.q_bias) {kind=add}
%n.k_bias_part = slice(%bias) {start=8, length=8}
%n.k_bias = reshape(%n.k_bias_part) {dims=[2, 4]}
%n.k_biased = binary(%n.k_heads, %n.k_bias) {kind=add}
%n.v_bias_part = slice(%bias) {start=16, length=8}
%n.v_bias = reshape(%n.v_bias_part) {dims=[2, 4]}
%n.v_biased = binary(%n.v_heads, %n.v_bias) {kind=add}
%n.q = transpose(%n.q_biased) {perm=[0, 2, 1, 3]}
%n.k = transpose(%n.k_biased) {perm=[0, 2, 1, 3]}
%n.v = transpose(%n.v_biased) {perm=[0, 2, 1, 3]}
%n.key_visible = cast(%key_padding_mask) {to=bool}
%n.key_mask = reshape(%n.key_visible) {dims=[B, 1, 1, L]}
%n.sdpa, _ = sdpa(q=%n.q, k=%n.k, v=%n.v, mask=%n.key_mask) {scale=0.5, band=[.., 0]}
%n.output_rows = transpose(%n.sdpa) {perm=[0, 2, 1, 3]}
%out = reshape(%n.output_rows) {dims=[B, S, 8]}
)"},
      {"RotaryEmbedding from an offset", offset, R"(
%n.start = expand(%position_ids) {dims=[B]}
%n.heads = reshape(%input) {dims=[B, S, 2, 4]}
%n.heads_first = transpose(%n.heads) {perm=[0, 2, 1, 3]}
%n.rope = apply_rope(x=%n.heads_first, cos=%cos_cache, sin=%sin_cache, start=%n.start)
%n.merged_rows = transpose(%n.rope) {perm=[0, 2, 1, 3]}
%output = reshape(%n.merged_rows) {dims=[B, S, 8]}
)"},
      {"TensorScatter", scatter(), R"(
%present_cache = kv_write(cache=%past_cache, update=%update, start=%write_indices) {capacity=8}
)"},
  };
  for (const Becomes &c : cases) {
    CAPTURE(c.why);
    CHECK(operators(c.node) == c.expected);
  }
}
