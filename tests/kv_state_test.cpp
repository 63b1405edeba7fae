// Caches that no cache operator writes become KvWrite, and which inputs are states.
#include "lowering/kv_state.h"

#include "pass_table.h"

using namespace engine;

TEST_CASE("kv_state: Concat and index_copy become KvWrite") {
  const PassRow rows[] = {
      {"a cache that grows",
       R"(
input %past : f32[1, 2, P, 4]
input %new : f32[1, 2, S, 4]
%y = concat(%past, %new) {axis=2}
output %y
)",
       R"(
input %past : f32[1, 2, P, 4]
input %new : f32[1, 2, S, 4]
%y = kv_write(cache=%past, update=%new) {capacity=P + S, offset=P}
output %y
)"},
      {"something else reads the past",
       R"(
input %past : f32[1, 2, P, 4]
input %new : f32[1, 2, S, 4]
%y = concat(%past, %new) {axis=2}
%z = unary(%past) {kind=neg}
output %y
output %z
)",
       R"(
input %past : f32[1, 2, P, 4]
input %new : f32[1, 2, S, 4]
%y = concat(%past, %new) {axis=2}
%z = unary(%past) {kind=neg}
output %y
output %z
)"},
      {"the rows that ScatterND writes are a prefix of the caller's: -1 is the last row",
       R"(
input %cache : f32[1, 2, 13, 4]
input %new : f32[1, 2, 1, 4]
input %at : i64[1]={$at}
%first = transpose(%cache) {perm=[2, 0, 1, 3]}
%rows = dim_values {dims=[1, 1], values=[$at]}
%update = transpose(%new) {perm=[2, 0, 1, 3]}
%written = scatter_nd(%first, %rows, %update)
%y = transpose(%written) {perm=[1, 2, 0, 3]} @"copy"
output %y
)",
       R"(
input %cache : f32[1, 2, 13, 4]
input %new : f32[1, 2, 1, 4]
input %at : i64[1]={$at}
%update = transpose(%new) {perm=[2, 0, 1, 3]}
%copy.update = transpose(%update) {perm=[1, 2, 0, 3]}
%y = kv_write(cache=%cache, update=%copy.update) {capacity=13, offset=$at + 13*max(0, min(1, -$at))} @"copy"
output %y
)"},
      {"two rows from an index that may be -1 go around the end",
       R"(
input %cache : f32[1, 2, 13, 4]
input %update : f32[2, 1, 2, 4]
input %at : i64[1]={$at}
%first = transpose(%cache) {perm=[2, 0, 1, 3]}
%rows = dim_values {dims=[2, 1], values=[$at, $at + 1]}
%written = scatter_nd(%first, %rows, %update)
%y = transpose(%written) {perm=[1, 2, 0, 3]} @"copy"
output %y
)",
       R"(
input %cache : f32[1, 2, 13, 4]
input %update : f32[2, 1, 2, 4]
input %at : i64[1]={$at}
%first = transpose(%cache) {perm=[2, 0, 1, 3]}
%rows = dim_values {dims=[2, 1], values=[$at, $at + 1]}
%written = scatter_nd(%first, %rows, %update)
%y = transpose(%written) {perm=[1, 2, 0, 3]} @"copy"
output %y
)"},
      {"a length is never negative",
       R"(
input %cache : f32[1, 2, 13, 4]
input %update : f32[2, 1, 2, 4]
input %mask : f32[P]
%first = transpose(%cache) {perm=[2, 0, 1, 3]}
%rows = dim_values {dims=[2, 1], values=[P, P + 1]}
%written = scatter_nd(%first, %rows, %update)
%y = transpose(%written) {perm=[1, 2, 0, 3]} @"copy"
output %y
)",
       R"(
input %cache : f32[1, 2, 13, 4]
input %update : f32[2, 1, 2, 4]
input %mask : f32[P]
%copy.update = transpose(%update) {perm=[1, 2, 0, 3]}
%y = kv_write(cache=%cache, update=%copy.update) {capacity=13, offset=P} @"copy"
output %y
)"},
  };
  checkPass(rows, lowering::recognizeKvStates);
}

TEST_CASE("kv_state: which inputs are states") {
  struct Row {
    const char *why;
    const char *graph;
    size_t states;
    bool grows;
  };
  const Row rows[] = {
      {"a cache that grows", R"(
input %past : f32[1, 2, P, 4]
input %new : f32[1, 2, S, 4]
%y = kv_write(cache=%past, update=%new) {capacity=P + S, offset=P}
output %y
)",
       1, true},
      {"a cache of a fixed size", R"(
input %past : f32[1, 2, 9, 4]
input %new : f32[1, 2, S, 4]
input %at : i64[1]
%y = kv_write(cache=%past, update=%new, start=%at) {capacity=9}
output %y
)",
       1, false},
      {"read before it is written", R"(
input %past : f32[1, 2, P, 4]
input %new : f32[1, 2, S, 4]
%z = unary(%past) {kind=neg}
%y = kv_write(cache=%past, update=%new) {capacity=P + S, offset=P}
output %y
output %z
)",
       1, true},
      {"read after it is written", R"(
input %past : f32[1, 2, P, 4]
input %new : f32[1, 2, S, 4]
%y = kv_write(cache=%past, update=%new) {capacity=P + S, offset=P}
%z = unary(%past) {kind=neg}
output %y
output %z
)",
       0, false},
      {"a view made before is read after", R"(
input %past : f32[1, 2, P, 4]
input %new : f32[1, 2, S, 4]
%view = transpose(%past) {perm=[0, 2, 1, 3]}
%y = kv_write(cache=%past, update=%new) {capacity=P + S, offset=P}
%z = unary(%view) {kind=neg}
output %y
output %z
)",
       0, false},
      {"a view leaves", R"(
input %past : f32[1, 2, P, 4]
input %new : f32[1, 2, S, 4]
%view = transpose(%past) {perm=[0, 2, 1, 3]}
%y = kv_write(cache=%past, update=%new) {capacity=P + S, offset=P}
output %y
output %view
)",
       0, false},
      {"the result does not leave", R"(
input %past : f32[1, 2, P, 4]
input %new : f32[1, 2, S, 4]
%y = kv_write(cache=%past, update=%new) {capacity=P + S, offset=P}
%z = unary(%y) {kind=neg}
output %z
)",
       0, false},
  };
  for (const Row &row : rows) {
    CAPTURE(row.why);
    const std::vector<lowering::KvState> states = lowering::findKvStates(parseBody(row.graph));
    REQUIRE(states.size() == row.states);
    if (!states.empty())
      CHECK(states[0].grows == row.grows);
  }
}
