// The memory plan: where values live, what may share memory, and where slots lie in the arena.
#include "lowering/plan.h"
#include "lowering/select.h"
#include "tests/pass_table.h"

using namespace engine;
using lowering::ArenaSlot;
using lowering::Storage;

namespace {

std::string storageName(Storage storage) {
  static const char *const kNames[] = {"none",   "input", "constant", "arena",
                                       "output", "pool",  "shared"};
  return kNames[static_cast<size_t>(storage)];
}

// "arena", or "shared with x".
std::string placeOf(const ir::Graph &graph, const lowering::MemoryPlan &plan, const char *name) {
  const lowering::ValuePlan &value = plan.values[graph.find(name).index];
  std::string place = storageName(value.storage);
  if (value.storage == Storage::kShared)
    place += " with " + graph.value(value.base).name;
  if (value.mayCopy)
    place += ", may copy";
  if (value.rowsFirst)
    place += ", rows first";
  return place;
}

} // namespace

TEST_CASE("plan: where a value lives") {
  struct Row {
    const char *why;
    const char *graph;
    std::vector<std::pair<const char *, const char *>> places;
  };
  const Row rows[] = {
      {"an elementwise result takes over an operand that nobody reads again",
       R"(input %x : f32[S]
%a = unary(%x) {kind=exp} : f32[S]
%b = unary(%a) {kind=neg} : f32[S]
%y = unary(%b) {kind=abs} : f32[S]
output %y as "y"
)",
       {{"x", "input"}, {"a", "arena"}, {"b", "shared with a"}, {"y", "output"}}},
      {"not one that is read later, nor the caller's input",
       R"(input %x : f32[S]
%a = unary(%x) {kind=exp} : f32[S]
%b = unary(%a) {kind=neg} : f32[S]
%c = binary(%b, %a) {kind=add} : f32[S]
%y = unary(%c) {kind=abs} : f32[S]
output %y as "y"
)",
       {{"a", "arena"}, {"b", "arena"}, {"c", "shared with b"}}},
      {"nor one that is smaller than the result",
       R"(input %x : f32[1]
input %z : f32[S]
%a = unary(%x) {kind=exp} : f32[1]
%b = binary(%a, %z) {kind=add} : f32[broadcast(1, S)]
%y = unary(%b) {kind=abs} : f32[broadcast(1, S)]
output %y as "y"
)",
       {{"a", "arena"}, {"b", "arena"}}},
      {"a reshape of dense memory is a view, one of a transposed tensor may need a copy",
       R"(input %x : f32[A, B]
%a = unary(%x) {kind=exp} : f32[A, B]
%r = reshape(%a) {dims=[A*B]} : f32[A*B]
%t = transpose(%a) {perm=[1, 0]} : f32[B, A]
%s = reshape(%t) {dims=[A*B]} : f32[A*B]
%y = binary(%r, %s) {kind=add} : f32[A*B]
output %y as "y"
)",
       {{"r", "shared with a"}, {"t", "shared with a"}, {"s", "shared with t, may copy"}}},
      {"a shape that only the data decides lives in the pool",
       R"(input %n : i64[] = {$n}
input %x : i64[S]
%end = reduce(%x) {kind=max, axes=[0], keep_dims=false} : i64[]
%zero = const {data=i64[]{0}} : i64[]
%one = const {data=i64[]{1}} : i64[]
%r = range(%zero, %end, %one) : i64["@r.0.0"] @"r"
%y = unary(%r) {kind=neg} : i64["@r.0.0"]
output %y as "y"
)",
       {{"zero", "constant"}, {"end", "arena"}, {"r", "pool"}}},
  };
  for (const Row &row : rows) {
    const std::string why = row.why;
    CAPTURE(why);
    const ir::Graph graph = parseBody(row.graph);
    const lowering::MemoryPlan plan = lowering::planMemory(graph);
    for (const auto &place : row.places)
      CHECK(std::string(place.first) + ": " + placeOf(graph, plan, place.first) ==
            std::string(place.first) + ": " + place.second);
  }
}

TEST_CASE("plan: slots lie where nothing alive lies") {
  struct Row {
    const char *why;
    std::vector<std::pair<int, int>> lives; // first and last node
    std::vector<int64_t> sizes, offsets;
    int64_t bytes;
  };
  const Row rows[] = {
      {"one after the other share", {{0, 1}, {2, 3}}, {100, 64}, {0, 0}, 128},
      {"a value that ends where another begins does not", {{0, 1}, {1, 2}}, {64, 64}, {0, 64}, 128},
      {"a gap is filled by what fits",
       {{0, 5}, {0, 1}, {0, 5}, {2, 5}},
       {256, 128, 64, 100},
       {0, 256, 384, 256},
       448},
      {"empty values take no room", {{0, 5}, {0, 5}}, {0, 64}, {0, 0}, 64},
  };
  for (const Row &row : rows) {
    const std::string why = row.why;
    CAPTURE(why);
    std::vector<ArenaSlot> slots;
    for (const auto &life : row.lives)
      slots.push_back({ir::kNoValue, life.first, life.second});
    const lowering::ArenaLayout layout = lowering::layOutArena(slots, row.sizes);
    CHECK(layout.offsets == row.offsets);
    CHECK(layout.bytes == row.bytes);
  }
}

TEST_CASE("select: forced kernels run or are an error that says why") {
  const ir::Graph graph = parseBody(R"(input %x : i64[2, 2]
%y = matmul(%x, %x) : i64[2, 2]
output %y as "y"
)");
  struct Row {
    const char *forced;
    const char *chosen; // or the error's text
  };
  const Row rows[] = {
      {"", "reference"},
      {"matmul:reference", "reference"},
      {"matmul:fastest", "there is no kernel 'matmul:fastest'"},
      {"matmull:reference", "no operator of that name has kernels"},
      {"matmul", "expected OPERATOR:NAME"},
      {"matmul:onednn", "the forced kernel 'onednn' cannot run: "},
  };
  for (const Row &row : rows) {
    const std::string forced = row.forced;
    CAPTURE(forced);
    lowering::SelectOptions options;
    options.backends = lowering::backendsFor("cpu");
    if (!forced.empty())
      options.forced.push_back(forced);
    std::string result;
    try {
      result = lowering::selectKernels(graph, graph.nodes()[0], options).rows[0]->name;
    } catch (const Error &error) {
      result = error.what();
    }
    CAPTURE(result);
    CHECK(result.find(row.chosen) != std::string::npos);
  }
}
