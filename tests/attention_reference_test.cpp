// The reference kernels around attention, as tables: what goes in, what comes out, why.
#include "ir/error.h"
#include "kernels/reference/attention_rows.h"
#include "kernels/windowed_cache.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>

using namespace engine;

namespace {

using Values = std::vector<double>;
using Dims = std::vector<int64_t>;

const double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

// A tensor with memory of its own.
struct Tensor {
  View view;
  std::vector<uint64_t> memory;

  Tensor() = default;
  Tensor(DType dtype, const Dims &dims, const Values &values = {}) {
    view = makeView(nullptr, dtype, dims);
    memory.assign(static_cast<size_t>(view.bytes() / 8 + 1), 0);
    view.data = memory.data();
    if (!values.empty())
      reference::storeAll<double>(view, values);
  }
  Tensor(const Tensor &) = delete;
  Tensor(Tensor &&) = default;

  Values values() const {
    const auto all = reference::loadAll<double>(view);
    return Values(all.begin(), all.end());
  }
};

Tensor f32(const Dims &dims, const Values &values = {}) { return {DType::kF32, dims, values}; }
Tensor i64(const Values &values) {
  return {DType::kI64, {static_cast<int64_t>(values.size())}, values};
}
Tensor i32(const Values &values) {
  return {DType::kI32, {static_cast<int64_t>(values.size())}, values};
}

std::string text(const Values &values) {
  std::string result;
  for (double value : values) {
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%.4g", value);
    result += (result.empty() ? "" : " ") + std::string(buffer);
  }
  return result;
}

// Runs an operator's reference kernel; absent operands are null. Gives "error: ..." where it
// throws.
template <class Op>
std::string run(void (*kernel)(const Op &, const KernelCall &), const Op &op,
                const std::vector<const Tensor *> &operands, const std::vector<Tensor *> &results) {
  llvm::SmallVector<View, 16> in, out;
  for (const Tensor *operand : operands)
    in.push_back(operand ? operand->view : View());
  for (Tensor *result : results)
    out.push_back(result ? result->view : View());
  const ir::SymbolValues symbols;
  try {
    kernel(op, KernelCall{in, out, symbols, 1, nullptr});
  } catch (const Error &e) {
    return std::string("error: ") + e.what();
  }
  std::string all;
  for (Tensor *result : results)
    if (result)
      all += (all.empty() ? "" : " | ") + text(result->values());
  return all;
}

} // namespace

// --- CacheLengths --------------------------------------------------------------------------------

namespace {

struct LengthsCase {
  std::string why;
  int64_t queries, newRows, past; // past < 0: none
  Values seqlens;
  double total;
  Values querySeqlens; // empty: none
  int64_t window;      // of a windowed cache; 0: not windowed
  int64_t ropeRows;
  // queryStart | queryLen | keyLen | writeStart | keyStart | split
  std::string expected;
};

std::string lengths(const LengthsCase &c) {
  ir::CacheLengths op;
  op.batch = static_cast<int64_t>(c.seqlens.size());
  op.queries = c.queries;
  op.newRows = c.newRows;
  op.hasPast = c.past >= 0;
  op.pastCapacity = std::max<int64_t>(c.past, 0);
  op.windowed = c.window > 0;
  op.window = c.window > 0 ? c.window : -1;
  op.ropeRows = c.ropeRows;
  const Tensor seqlens = i32(c.seqlens), total(DType::kI32, {}, {c.total});
  const Tensor querySeqlens = i32(c.querySeqlens);
  std::vector<Tensor> results;
  std::vector<Tensor *> pointers;
  for (int i = 0; i < 6; ++i)
    results.push_back(i64(Values(c.seqlens.size())));
  for (Tensor &result : results)
    pointers.push_back(&result);
  return run(reference::runCacheLengths, op,
             {&seqlens, &total, c.querySeqlens.empty() ? nullptr : &querySeqlens}, pointers);
}

} // namespace

TEST_CASE("lengths of GroupQueryAttention") {
  const LengthsCase cases[] = {
      {"prompt without a past", 4, 4, -1, {3}, 4, {}, 0, -1, "0 | 4 | 4 | 0 | 0 | 0"},
      {"a ragged prompt starts at 0 and ends at its own length",
       4,
       4,
       -1,
       {3, 1},
       4,
       {},
       0,
       -1,
       "0 0 | 4 4 | 4 2 | 0 0 | 0 0 | 0 0"},
      {"a prompt ignores what the past holds", 4, 4, 9, {3}, 4, {}, 0, -1, "0 | 4 | 4 | 0 | 0 | 0"},
      {"decode", 1, 1, 5, {5}, 6, {}, 0, -1, "5 | 1 | 6 | 5 | 0 | 0"},
      {"ragged decode in a buffer that is longer",
       1,
       1,
       9,
       {5, 2},
       6,
       {},
       0,
       -1,
       "5 2 | 1 1 | 6 3 | 5 2 | 0 0 | 0 0"},
      {"several tokens on a cache for every entry",
       2,
       2,
       8,
       {6, 4},
       7,
       {},
       0,
       -1,
       "5 3 | 2 2 | 7 5 | 5 3 | 0 0 | 0 0"},
      {"a borrowed cache is written nowhere: from its end on",
       1,
       0,
       7,
       {6},
       7,
       {},
       0,
       -1,
       "6 | 1 | 7 | 7 | 0 | 0"},
      {"a borrowed cache in a prompt", 4, 0, 4, {3}, 4, {}, 0, -1, "0 | 4 | 4 | 4 | 0 | 0"},
      {"query_seqlens: S == total is nothing special",
       4,
       4,
       8,
       {5, 3},
       6,
       {2, 4},
       0,
       -1,
       "4 0 | 2 4 | 6 4 | 4 0 | 0 0 | 0 0"},
      {"an idle entry", 2, 2, 8, {3}, 8, {0}, 0, -1, "4 | 0 | 4 | 4 | 0 | 0"},
      {"windowed: everything fits", 1, 1, 6, {4}, 5, {}, 4, -1, "4 | 1 | 5 | 4 | 0 | 4"},
      {"windowed: after 8 tokens rows 0 to 4 hold positions 3 to 7",
       1,
       1,
       6,
       {8},
       9,
       {},
       4,
       -1,
       "8 | 1 | 6 | 5 | 3 | 5"},
      {"windowed: more new rows than the cache has",
       8,
       8,
       6,
       {7},
       8,
       {},
       4,
       -1,
       "0 | 8 | 8 | 0 | 0 | 0"},
      {"below the range",
       1,
       1,
       4,
       {4, -1},
       5,
       {},
       0,
       -1,
       "error: input 'seqlens_k': value -1 of entry 1 is out of range [0, 5)"},
      {"beyond total_sequence_length",
       1,
       1,
       9,
       {5},
       5,
       {},
       0,
       -1,
       "error: input 'seqlens_k': value 5 of entry 0 is out of range [0, 5)"},
      {"the largest value does not wrap",
       1,
       1,
       4,
       {2147483647},
       5,
       {},
       0,
       -1,
       "error: input 'seqlens_k': value 2147483647 of entry 0 is out of range [0, 5)"},
      {"fewer tokens than query rows",
       3,
       3,
       4,
       {1},
       7,
       {},
       0,
       -1,
       "error: input 'seqlens_k': value 1 of entry 0 is too small for 3 query rows"},
      {"total 0",
       1,
       1,
       4,
       {0},
       0,
       {},
       0,
       -1,
       "error: input 'total_sequence_length': value 0, expected at least 1"},
      {"total below the new rows",
       3,
       3,
       4,
       {0},
       1,
       {},
       0,
       -1,
       "error: input 'total_sequence_length': value 1, expected at least the 3 new rows"},
      {"total that is no length of this cache",
       1,
       1,
       4,
       {4},
       7,
       {},
       0,
       -1,
       "error: input 'total_sequence_length': value 7, expected 5, past and new rows, or at most "
       "the past's 4"},
      {"no past to stand in",
       2,
       2,
       -1,
       {3},
       4,
       {},
       0,
       -1,
       "error: input 'total_sequence_length': value 4, expected 2, past and new rows, or at most "
       "the past's 0"},
      {"new rows that are not the query's",
       3,
       2,
       4,
       {3},
       4,
       {},
       0,
       -1,
       "error: input 'key': 2 rows, expected the query's 3"},
      {"query_seqlens above the chunk",
       2,
       2,
       8,
       {5},
       8,
       {3},
       0,
       -1,
       "error: input 'query_seqlens': value 3 of entry 0 is out of range [0, 2]"},
      {"a padded chunk that does not fit",
       4,
       4,
       8,
       {6},
       8,
       {1},
       0,
       -1,
       "error: input 'query_seqlens': value 1 of entry 0: a chunk of 4 rows from row 6 on does not "
       "fit the cache's 8"},
      {"a cos cache that is too short",
       1,
       1,
       5,
       {5},
       6,
       {},
       0,
       5,
       "error: input 'cos_cache': 5 rows, expected at least 6 for entry 0"},
      {"a cos cache that just does", 1, 1, 5, {5}, 6, {}, 0, 6, "5 | 1 | 6 | 5 | 0 | 0"},
      {"a windowed cache below its window",
       1,
       1,
       3,
       {3},
       4,
       {},
       4,
       -1,
       "error: input 'past_key': 3 rows, expected at least the window's 4"},
  };
  for (const LengthsCase &c : cases) {
    CAPTURE(c.why);
    CHECK(lengths(c) == c.expected);
  }
}

TEST_CASE("positions of a first prompt follow element [0][0]") {
  struct {
    std::string why;
    double total;
    bool promptRule;
    std::string expected;
  } const cases[] = {
      {"S == total", 3, true, "5 6 7 5 6 7"},
      {"a later chunk takes its own", 7, true, "5 5 5 1 2 3"},
      {"query_seqlens: never a first prompt", 3, false, "5 5 5 1 2 3"},
  };
  for (const auto &c : cases) {
    CAPTURE(c.why);
    const Tensor ids(DType::kI64, {2, 3}, {5, 5, 5, 1, 2, 3}), total = i32({c.total});
    Tensor out(DType::kI64, {2, 3});
    CHECK(run(reference::runRopePositions, ir::RopePositions{c.promptRule}, {&ids, &total},
              {&out}) == c.expected);
  }
}

// --- Caches --------------------------------------------------------------------------------------

namespace {

struct WriteCase {
  std::string why;
  Values cache; // one row an element; empty: none
  int64_t capacity;
  Values update;
  double start;
  double len; // < 0: all
  ir::KvTail tail;
  bool circular;
  std::string expected;
};

Tensor rowsOf(const Values &values) {
  return f32({1, 1, static_cast<int64_t>(values.size()), 1}, values);
}

} // namespace

TEST_CASE("KvWrite") {
  constexpr ir::KvTail kKeep = ir::KvTail::kKeep, kZero = ir::KvTail::kZero;
  const WriteCase cases[] = {
      {"TensorScatter keeps both sides", {1, 2, 3, 4}, 4, {8, 9}, 1, -1, kKeep, false, "1 8 9 4"},
      {"a growing cache", {1, 2}, 4, {8, 9}, 2, -1, kKeep, false, "1 2 8 9"},
      {"GQA: what follows is zero", {1, 2, 3, 4}, 5, {8}, 1, -1, kZero, false, "1 8 0 0 0"},
      {"no cache: as an empty one", {}, 3, {8}, 0, -1, kZero, false, "8 0 0"},
      {"only the valid rows", {1, 2, 3, 4}, 4, {8, 9}, 1, 1, kKeep, false, "1 8 3 4"},
      {"nothing to write: the tail still is zero", {1, 2, 3}, 3, {}, 2, -1, kZero, false, "1 2 0"},
      {"circular wraps", {1, 2, 3}, 3, {8, 9}, 2, -1, kKeep, true, "9 2 8"},
      {"circular: reduced before adding",
       {1, 2, 3},
       3,
       {8, 9},
       9223372036854774784.0,
       -1,
       kKeep,
       true,
       "1 8 9"},
      {"linear overflow",
       {1, 2, 3},
       3,
       {8, 9},
       2,
       -1,
       kKeep,
       false,
       "error: input 'write_indices': value 2 of entry 0 with 2 rows is out of range [0, 3)"},
      {"negative",
       {1, 2, 3},
       3,
       {8},
       -1,
       -1,
       kKeep,
       false,
       "error: input 'write_indices': value -1 of entry 0 is negative"},
      {"negative, circular",
       {1, 2, 3},
       3,
       {8},
       -1,
       -1,
       kKeep,
       true,
       "error: input 'write_indices': value -1 of entry 0 is negative"},
  };
  for (const WriteCase &c : cases) {
    CAPTURE(c.why);
    ir::KvWrite op;
    op.capacity = c.capacity;
    op.tail = c.tail;
    op.circular = c.circular;
    const Tensor cache = rowsOf(c.cache), update = rowsOf(c.update), start = i64({c.start}),
                 len = i64({c.len});
    Tensor y = rowsOf(Values(c.capacity, 77));
    CHECK(run(reference::runKvWrite, op,
              {c.cache.empty() ? nullptr : &cache, &update, &start, c.len < 0 ? nullptr : &len},
              {&y}) == c.expected);
  }
}

TEST_CASE("KvWrite in place leaves the tail alone") {
  ir::KvWrite op;
  op.capacity = 4;
  op.tail = ir::KvTail::kZero;
  Tensor cache = rowsOf({1, 2, 3, 4});
  const Tensor update = rowsOf({8}), start = i64({1});
  llvm::SmallVector<View, 4> in{cache.view, update.view, start.view};
  const ir::SymbolValues symbols;
  reference::runKvWrite(op, KernelCall{in, cache.view, symbols, 1, nullptr});
  CHECK(text(cache.values()) == "1 8 3 4");
}

TEST_CASE("KvWrite along another axis than the third") {
  ir::KvWrite op;
  op.axis = 1;
  op.capacity = 3;
  const Tensor cache = f32({2, 3, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  const Tensor update = f32({2, 1, 2}, {20, 21, 22, 23}), start = i64({0, 2});
  Tensor y = f32({2, 3, 2});
  CHECK(run(reference::runKvWrite, op, {&cache, &update, &start}, {&y}) ==
        "20 21 3 4 5 6 7 8 9 10 22 23");
}

// However the tokens were split into steps, row i holds position T - L(T) + i.
TEST_CASE("a windowed cache holds the last positions") {
  for (int64_t capacity : {3, 4, 7})
    for (int64_t window = 1; window <= capacity; ++window)
      for (int64_t step : {1, 2, 5, 9})
        for (bool sameBuffer : {false, true}) {
          Tensor cache = rowsOf(Values(capacity, -1));
          for (int64_t past = 0; past < 24; past += step) {
            const int64_t resident = residentRows(past, capacity, window);
            const int64_t tokens = past + step;
            Values fresh;
            for (int64_t i = past; i < tokens; ++i)
              fresh.push_back(static_cast<double>(i));
            const Tensor update = rowsOf(fresh), split = i64({double(resident)}),
                         keyStart = i64({double(past - resident)}), len = i64({double(step)});
            Tensor other = rowsOf(Values(capacity, -1));
            Tensor &y = sameBuffer ? cache : other;
            run(reference::runKvEvict, ir::KvEvict{window},
                {&cache, &update, &split, &keyStart, &len}, {&y});
            const int64_t stay = residentRows(tokens, capacity, window);
            CHECK(stay >= std::min(tokens, window));
            CHECK(stay <= std::min(tokens, capacity));
            const Values rows = y.values();
            for (int64_t i = 0; i < stay; ++i)
              CHECK(rows[i] == tokens - stay + i);
            std::memcpy(cache.memory.data(), y.memory.data(), cache.view.bytes());
          }
        }
}

TEST_CASE("KvQuantize") {
  struct {
    std::string why;
    int64_t bits;
    Values x, scale;
    std::string expected; // codes as stored
  } const cases[] = {
      {"half to even", 8, {0.5, 1.5, 2.5, -0.5, -1.5, 3}, {1}, "0 2 2 0 -2 3"},
      {"clipped", 8, {200, -200, kInf, -kInf, 127.4, -128.6}, {1}, "127 -128 127 -128 127 -128"},
      {"NaN gives the largest code", 8, {kNan, 0, 0, 0, 0, 0}, {1}, "127 0 0 0 0 0"},
      {"per channel of every head",
       8,
       {1, 1, 1, 1, 1, 1},
       {1, 0.5, 0.25, 0.2, 0.1, 0.05},
       "1 2 4 5 10 20"},
      {"4 bits: even channel low, stored + 8", 4, {1, -8, 7, 0, 9, -9}, {1}, "9 143 15"},
      {"4 bits: NaN", 4, {kNan, 0, 0, 0, 0, 0}, {1}, "143 136 136"},
  };
  for (const auto &c : cases) {
    CAPTURE(c.why);
    // Two heads of three channels; four bits take one head of six.
    const bool packed = c.bits == 4;
    const Tensor x = f32(packed ? Dims{1, 1, 1, 6} : Dims{1, 2, 1, 3}, c.x);
    const Tensor scale = f32({static_cast<int64_t>(c.scale.size())}, c.scale);
    Tensor y(packed ? DType::kU8 : DType::kI8, packed ? Dims{1, 1, 1, 3} : Dims{1, 2, 1, 3});
    CHECK(run(reference::runKvQuantize, ir::KvQuantize{c.bits}, {&x, &scale}, {&y}) == c.expected);
  }
}

// --- ApplyRope -----------------------------------------------------------------------------------

// The angle of position p is p quarter turns: (a, b) -> (a, b), (-b, a), (-a, -b), (b, -a).
TEST_CASE("ApplyRope") {
  const Tensor cos = f32({4, 1}, {1, 0, -1, 0}), sin = f32({4, 1}, {0, 1, 0, -1});
  const Tensor cosRows = f32({1, 2, 1}, {0, -1}), sinRows = f32({1, 2, 1}, {1, 0});
  const Tensor wideCos = f32({2, 2}, {1, 1, 0, -1}), wideSin = f32({2, 2}, {0, 0, 1, 0});
  const Tensor positions(DType::kI64, {1, 2}, {3, 1}), beyond(DType::kI64, {1, 2}, {0, 4});
  const Tensor negative(DType::kI64, {1, 2}, {0, -1});
  const Tensor two = i64({2}), one = i64({1}), three = i64({3}), zero = i64({0});
  struct {
    std::string why;
    const Tensor *cos, *sin, *positions, *start, *len;
    bool interleaved;
    std::string expected; // of rows (1 2 5 6) and (3 4 7 8)
  } const cases[] = {
      {"positions; channels past the rotated ones stay", &cos, &sin, &positions, nullptr, nullptr,
       false, "2 -1 5 6 -4 3 7 8"},
      {"start + s", &cos, &sin, nullptr, &two, nullptr, false, "-1 -2 5 6 4 -3 7 8"},
      {"neither: from 0", &cos, &sin, nullptr, nullptr, nullptr, false, "1 2 5 6 -4 3 7 8"},
      {"rows behind len are copied", &cos, &sin, &positions, nullptr, &one, false,
       "2 -1 5 6 3 4 7 8"},
      {"and not checked", &cos, &sin, nullptr, &three, &one, false, "2 -1 5 6 3 4 7 8"},
      {"a row per entry and position", &cosRows, &sinRows, nullptr, nullptr, nullptr, false,
       "-2 1 5 6 -3 -4 7 8"},
      {"halves: pairs (0, 2) and (1, 3)", &wideCos, &wideSin, nullptr, &zero, nullptr, false,
       "1 2 5 6 -7 -4 3 -8"},
      {"interleaved: pairs (0, 1) and (2, 3)", &wideCos, &wideSin, nullptr, &zero, nullptr, true,
       "1 2 5 6 -4 3 -7 -8"},
      {"a position the caches lack", &cos, &sin, &beyond, nullptr, nullptr, false,
       "error: input 'position_ids': value 4 of entry 0, row 1 is out of range [0, 4)"},
      {"negative", &cos, &sin, &negative, nullptr, nullptr, false,
       "error: input 'position_ids': value -1 of entry 0, row 1 is out of range [0, 4)"},
      {"start + s beyond", &cos, &sin, nullptr, &three, nullptr, false,
       "error: input 'position_ids': value 4 of entry 0, row 1 is out of range [0, 4)"},
  };
  for (const auto &c : cases) {
    CAPTURE(c.why);
    const Tensor x = f32({1, 1, 2, 4}, {1, 2, 5, 6, 3, 4, 7, 8});
    Tensor y = f32({1, 1, 2, 4});
    ir::ApplyRope op;
    op.interleaved = c.interleaved;
    CHECK(run(reference::runApplyRope, op, {&x, c.cos, c.sin, c.positions, c.start, c.len}, {&y}) ==
          c.expected);
  }
}

// --- Sdpa ----------------------------------------------------------------------------------------

namespace {

// One batch entry; keys 0, so that every visible key weighs the same and a row of the output is the
// mean of the values it sees. Values are the powers of two: the mean tells which.
struct VisibleCase {
  std::string why;
  int64_t queries, keys;
  Band band;
  ir::Anchor anchor;
  int64_t offset;
  double keyLen;                      // < 0: all
  Values bias;                        // [S, C] or empty
  Values mask;                        // likewise
  int64_t columns;                    // C
  std::vector<std::vector<int>> seen; // by query row
};

std::string means(const std::vector<std::vector<int>> &rows) {
  Values out;
  for (const auto &row : rows) {
    double sum = 0;
    for (int key : row)
      sum += std::exp2(key);
    out.push_back(row.empty() ? 0 : sum / static_cast<double>(row.size()));
  }
  return text(out);
}

// Hidden rows of K and V hold NaN: whatever reads one shows.
std::string visible(const VisibleCase &c) {
  Values values, zeros(c.keys, 0.0);
  std::vector<bool> anySees(c.keys, false);
  for (const auto &row : c.seen)
    for (int key : row)
      anySees[key] = true;
  for (int64_t i = 0; i < c.keys; ++i) {
    values.push_back(anySees[i] ? std::exp2(static_cast<double>(i)) : kNan);
    zeros[i] = anySees[i] ? 0 : kNan;
  }
  const Tensor q = f32({1, 1, c.queries, 1}, Values(c.queries, 1.0));
  const Tensor k = f32({1, 1, c.keys, 1}, zeros), v = f32({1, 1, c.keys, 1}, values);
  const Tensor keyLen = i64({c.keyLen});
  const Tensor bias = f32({1, 1, c.queries, c.columns}, c.bias);
  const Tensor mask(DType::kBool, {1, 1, c.queries, c.columns}, c.mask);
  std::vector<const Tensor *> operands(ir::sdpa::kCount, nullptr);
  operands[ir::sdpa::q] = &q;
  operands[ir::sdpa::k] = &k;
  operands[ir::sdpa::v] = &v;
  operands[ir::sdpa::keyLen] = c.keyLen < 0 ? nullptr : &keyLen;
  operands[ir::sdpa::bias] = c.bias.empty() ? nullptr : &bias;
  operands[ir::sdpa::mask] = c.mask.empty() ? nullptr : &mask;
  ir::Sdpa op;
  op.band = c.band;
  op.anchor = c.anchor;
  op.offset = c.offset;
  Tensor y = f32({1, 1, c.queries, 1});
  return run(reference::runSdpa, op, operands, {&y});
}

} // namespace

TEST_CASE("which keys a query sees") {
  constexpr ir::Anchor kOffset = ir::Anchor::kOffset, kKeyEnd = ir::Anchor::kKeyEnd;
  const VisibleCase cases[] = {
      {"everything", 1, 3, {}, kOffset, 0, -1, {}, {}, 0, {{0, 1, 2}}},
      {"causal", 3, 3, kCausalBand, kOffset, 0, -1, {}, {}, 0, {{0}, {0, 1}, {0, 1, 2}}},
      {"causal behind a past",
       2,
       4,
       kCausalBand,
       kOffset,
       2,
       -1,
       {},
       {},
       0,
       {{0, 1, 2}, {0, 1, 2, 3}}},
      {"fewer keys than queries",
       3,
       2,
       kCausalBand,
       kOffset,
       0,
       -1,
       {},
       {},
       0,
       {{0}, {0, 1}, {0, 1}}},
      {"window of 2, itself included",
       3,
       3,
       {1, 0},
       kOffset,
       0,
       -1,
       {},
       {},
       0,
       {{0}, {0, 1}, {1, 2}}},
      {"window of 0", 2, 2, {-1, 0}, kOffset, 0, -1, {}, {}, 0, {{}, {}}},
      {"window on both sides",
       3,
       4,
       {1, 1},
       kOffset,
       0,
       -1,
       {},
       {},
       0,
       {{0, 1}, {0, 1, 2}, {1, 2, 3}}},
      {"valid keys end early", 1, 4, {}, kOffset, 0, 2, {}, {}, 0, {{0, 1}}},
      {"no valid key", 2, 2, {}, kOffset, 0, 0, {}, {}, 0, {{}, {}}},
      {"queries are the last valid keys",
       2,
       5,
       kCausalBand,
       kKeyEnd,
       0,
       3,
       {},
       {},
       0,
       {{0, 1}, {0, 1, 2}}},
      {"fewer valid keys than queries: leading rows see nothing",
       3,
       4,
       kCausalBand,
       kKeyEnd,
       0,
       1,
       {},
       {},
       0,
       {{}, {}, {0}}},
      {"mask", 1, 3, {}, kOffset, 0, -1, {}, {1, 0, 1}, 3, {{0, 2}}},
      {"mask and causal", 2, 2, kCausalBand, kOffset, 0, -1, {}, {0, 1, 1, 1}, 2, {{}, {0, 1}}},
      {"a mask of fewer columns hides the rest", 1, 4, {}, kOffset, 0, -1, {}, {1, 1}, 2, {{0, 1}}},
      {"a last axis of 1 does not broadcast", 1, 3, {}, kOffset, 0, -1, {}, {1}, 1, {{0}}},
      {"the anchor does not follow the mask's columns",
       1,
       4,
       kCausalBand,
       kKeyEnd,
       0,
       4,
       {},
       {1, 1},
       2,
       {{0, 1}}},
      {"-inf hides", 1, 3, {}, kOffset, 0, -1, {0, -kInf, 0}, {}, 3, {{0, 2}}},
      {"the lowest float hides nothing",
       1,
       2,
       {},
       kOffset,
       0,
       -1,
       {-3.4028235e38, -3.4028235e38},
       {},
       2,
       {{0, 1}}},
      {"all hidden by the bias", 1, 2, {}, kOffset, 0, -1, {-kInf, -kInf}, {}, 2, {{}}},
  };
  for (const VisibleCase &c : cases) {
    CAPTURE(c.why);
    CHECK(visible(c) == means(c.seen));
  }
}

namespace {

// One query (1), keys 1 and 3, values 10 and 20: logits scale * 1 and scale * 3.
struct ScoreCase {
  std::string why;
  float scale, softcap;
  Values bias;    // 2 or none
  Values sink;    // 1 or none
  bool onlyFirst; // the band hides the second key
  ir::Scores scores;
  std::string expected; // output | scores
};

std::string scored(const ScoreCase &c) {
  const Tensor q = f32({1, 1, 1, 1}, {1}), k = f32({1, 1, 2, 1}, {1, 3}),
               v = f32({1, 1, 2, 1}, {10, 20}), bias = f32({1, 1, 1, 2}, c.bias),
               sink = f32({1}, c.sink);
  std::vector<const Tensor *> operands(ir::sdpa::kCount, nullptr);
  operands[ir::sdpa::q] = &q;
  operands[ir::sdpa::k] = &k;
  operands[ir::sdpa::v] = &v;
  operands[ir::sdpa::bias] = c.bias.empty() ? nullptr : &bias;
  operands[ir::sdpa::sink] = c.sink.empty() ? nullptr : &sink;
  ir::Sdpa op;
  op.scale = c.scale;
  op.softcap = c.softcap;
  op.scores = c.scores;
  op.scoreColumns = 2;
  if (c.onlyFirst)
    op.band = kCausalBand;
  Tensor y = f32({1, 1, 1, 1}), scores = f32({1, 1, 1, 2});
  return run(reference::runSdpa, op, operands,
             {&y, c.scores == ir::Scores::kNone ? nullptr : &scores});
}

} // namespace

TEST_CASE("logits, weights and the score modes") {
  using S = ir::Scores;
  const float half = 0.5f;
  const ScoreCase cases[] = {
      {"weights 1 : e^2", 1, 0, {}, {}, false, S::kProbabilities, "18.81 | 0.1192 0.8808"},
      {"scale 0 is a mean", 0, 0, {}, {}, false, S::kNone, "15"},
      {"negative scale", -1, 0, {}, {}, false, S::kProbabilities, "11.19 | 0.8808 0.1192"},
      {"raw: before the cap, hidden columns too", half, 1, {}, {}, true, S::kRaw, "10 | 0.5 1.5"},
      {"capped, hidden columns too", half, 1, {}, {}, true, S::kCapped, "10 | 0.4621 0.9051"},
      {"biased: after the cap; hidden is -inf",
       half,
       1,
       {5, 5},
       {},
       true,
       S::kBiased,
       "10 | 5.462 -inf"},
      {"weights; hidden is 0", 1, 0, {}, {}, true, S::kProbabilities, "10 | 1 0"},
      {"GQA logits: 0 outside the band", half, 0, {5, 5}, {}, true, S::kGqaLogits, "10 | 5.5 0"},
      {"GQA logits: -inf where only the bias hides",
       half,
       0,
       {5, -kInf},
       {},
       false,
       S::kGqaLogits,
       "10 | 5.5 -inf"},
      {"a sink takes weight and gives no value",
       0,
       0,
       {},
       {0},
       false,
       S::kProbabilities,
       "10 | 0.3333 0.3333"},
      {"a sink alone: nothing", 1, 0, {-kInf, -kInf}, {0}, false, S::kProbabilities, "0 | 0 0"},
      {"softcap below 0 is off", 1, -1, {}, {}, false, S::kCapped, "18.81 | 1 3"},
  };
  for (const ScoreCase &c : cases) {
    CAPTURE(c.why);
    CHECK(scored(c) == c.expected);
  }
}

TEST_CASE("two segments, ragged queries and quantised caches") {
  std::vector<const Tensor *> operands(ir::sdpa::kCount, nullptr);
  ir::Sdpa op;
  op.band = kCausalBand;

  SUBCASE("rows below split from the cache, the others from the new rows") {
    const Tensor q = f32({1, 1, 2, 1}, {1, 1}), k = f32({1, 1, 4, 1}, {0, 0, kNan, kNan});
    const Tensor v = f32({1, 1, 4, 1}, {1, 2, kNan, kNan});
    const Tensor kNew = f32({1, 1, 2, 1}, {0, 0}), vNew = f32({1, 1, 2, 1}, {3, 10});
    const Tensor start = i64({7}), keyLen = i64({4}), keyStart = i64({5}), split = i64({2});
    const std::pair<int, const Tensor *> given[] = {
        {ir::sdpa::q, &q},           {ir::sdpa::k, &k},
        {ir::sdpa::v, &v},           {ir::sdpa::kNew, &kNew},
        {ir::sdpa::vNew, &vNew},     {ir::sdpa::queryStart, &start},
        {ir::sdpa::keyLen, &keyLen}, {ir::sdpa::keyStart, &keyStart},
        {ir::sdpa::split, &split}};
    for (const auto &entry : given)
      operands[entry.first] = entry.second;
    Tensor y = f32({1, 1, 2, 1});
    CHECK(run(reference::runSdpa, op, operands, {&y}) == "2 4");
  }
  SUBCASE("rows from queryLen on are 0") {
    const Tensor q = f32({1, 1, 2, 1}, {1, kNan}), k = f32({1, 1, 2, 1}, {0, 0});
    const Tensor v = f32({1, 1, 2, 1}, {4, 6}), start = i64({1}), len = i64({1});
    operands[ir::sdpa::q] = &q;
    operands[ir::sdpa::k] = &k;
    operands[ir::sdpa::v] = &v;
    operands[ir::sdpa::queryStart] = &start;
    operands[ir::sdpa::queryLen] = &len;
    Tensor y = f32({1, 1, 2, 1});
    CHECK(run(reference::runSdpa, op, operands, {&y}) == "5 0");
  }
  SUBCASE("4-bit codes, a scale per channel of every KV head, two query heads a KV head") {
    const Tensor q = f32({1, 4, 1, 2}, Values(8, 0.0));
    const Tensor k(DType::kU8, {1, 2, 1, 1}, {0, 0});
    const Tensor v(DType::kU8, {1, 2, 1, 1}, {0x79, 0x0f}); // (1, -1) and (7, -8)
    const Tensor kScale = f32({1}, {1}), vScale = f32({4}, {1, 2, 10, 20});
    operands[ir::sdpa::q] = &q;
    operands[ir::sdpa::k] = &k;
    operands[ir::sdpa::v] = &v;
    operands[ir::sdpa::kScale] = &kScale;
    operands[ir::sdpa::vScale] = &vScale;
    Tensor y = f32({1, 4, 1, 2});
    CHECK(run(reference::runSdpa, op, operands, {&y}) == "1 -2 1 -2 70 -160 70 -160");
  }
}

TEST_CASE("what does not fit an Sdpa problem") {
  const Tensor q = f32({2, 2, 1, 4}), k = f32({2, 1, 3, 4}), narrow = f32({2, 1, 3, 3}),
               fewer = f32({2, 1, 2, 4}), threeHeads = f32({2, 3, 3, 4}), bias = f32({3, 1, 1, 3}),
               rows = f32({2, 1, 2, 3}), long1 = i64({4, 0}), negative = i64({0, -1});
  struct {
    std::string why;
    const Tensor *k, *v;
    int operand;
    const Tensor *given;
    std::string expected;
  } const cases[] = {
      {"head size", &narrow, &k, 0, &q,
       "error: operand 'k': shape [2, 1, 3, 3], expected rows of the query's head size 4"},
      {"rows of v", &k, &fewer, 0, &q,
       "error: operand 'v': shape [2, 1, 2, 4], expected 3 at axis 2"},
      {"heads", &threeHeads, &threeHeads, 0, &q,
       "error: operand 'k': shape [2, 3, 3, 4], expected a number of heads that divides the "
       "query's 2"},
      {"batch of a bias", &k, &k, ir::sdpa::bias, &bias,
       "error: operand 'bias': shape [3, 1, 1, 3], expected a shape that broadcasts to [2, 2, 1, "
       "columns]"},
      {"rows of a bias", &k, &k, ir::sdpa::bias, &rows,
       "error: operand 'bias': shape [2, 1, 2, 3], expected a shape that broadcasts to [2, 2, 1, "
       "columns]"},
      {"more keys than there are", &k, &k, ir::sdpa::keyLen, &long1,
       "error: operand 'keyLen': value 4 of entry 0 is out of range [0, 3]"},
      {"a negative length", &k, &k, ir::sdpa::queryLen, &negative,
       "error: operand 'queryLen': value -1 of entry 1 is out of range [0, 1]"},
  };
  for (const auto &c : cases) {
    CAPTURE(c.why);
    std::vector<const Tensor *> operands(ir::sdpa::kCount, nullptr);
    operands[c.operand] = c.given;
    operands[ir::sdpa::q] = &q;
    operands[ir::sdpa::k] = c.k;
    operands[ir::sdpa::v] = c.v;
    Tensor y = f32({2, 2, 1, 4});
    CHECK(run(reference::runSdpa, ir::Sdpa(), operands, {&y}) == c.expected);
  }
}

// --- Checks --------------------------------------------------------------------------------------

TEST_CASE("CheckDims and CheckLengths") {
  ir::CheckDims dims;
  dims.item = "input 'attn_mask'";
  dims.actual = {3, 1, 8};
  dims.expected = {3, 4, 9};
  dims.orOne = {1};
  const Tensor x = f32({1}, {5});
  Tensor y = f32({1});
  CHECK(run(reference::runCheckDims, dims, {&x}, {&y}) ==
        "error: input 'attn_mask': shape [3, 1, 8], expected [3, 4 or 1, 9]");
  dims.orLess = {2};
  CHECK(run(reference::runCheckDims, dims, {&x}, {&y}) == "5");
  dims.actual[2] = 10;
  CHECK(run(reference::runCheckDims, dims, {&x}, {&y}) ==
        "error: input 'attn_mask': shape [3, 1, 10], expected [3, 4 or 1, at most 9]");

  ir::CheckLengths lengths;
  lengths.item = "input 'nonpad_kv_seqlen'";
  lengths.limit = 8;
  const Tensor fits = i64({0, 8}), beyond = i64({0, 9});
  Tensor out = i64({0, 0});
  CHECK(run(reference::runCheckLengths, lengths, {&fits}, {&out}) == "0 8");
  CHECK(run(reference::runCheckLengths, lengths, {&beyond}, {&out}) ==
        "error: input 'nonpad_kv_seqlen': value 9 of entry 1 is out of range [0, 8]");
}
