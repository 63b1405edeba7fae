// The IR as text, `engine-ir 1`. Every state of a graph prints, parses back to an equal one and
// verifies.
//
//   engine-ir 1
//   input %input_ids : i64[batch, S]
//   input %mode : i32[]={$mode} default i32[]{1}
//   %w = const {data=f32[2, 2]{1, 2, 3.5, -0}} : f32[2, 2]
//   %embed = const {data=f32[256, 64] data("model.onnx.data", 4096, 65536)} : f32[256, 64]
//   %table = const {data=u8[65] hex"00010203..."} : u8[65]
//   %z = where(%c, %a, %b) : f32[B]
//   %r = if(%c, %a) {then=graph { input %x : f32[B] output %x }, else=graph {...}} : f32[B]
//   %y, _ = sdpa(q=%q, k=%k, v=%v, keyLen=%n) {scale=0.25, band=[.., 0]} : f32[B, N, S, H], _
//       @"/layers.0/attn" #"ai.onnx.Attention"          (one line)
//   output %y as "logits"
//
// Operands stand by name where an operator has optional ones. Fields at their default are left out.
// A value or symbol whose name is no plain identifier (for values: nor a path) is quoted: %"a b".
// `@` gives the node's name if it is not its first result's, `#` the ONNX operator it came from.
// `_` is an absent result or operand. Constants of up to 64 elements stand in the text, larger ones
// as a place in a file or as bytes. White space separates, nothing more; comments start with `//`.
//
// By hand, types may be left out; what stands behind the colon is checked against inference.
#pragma once

#include "ir/graph.h"

#include "llvm/Support/raw_ostream.h"

#include <functional>

namespace engine::ir {

void print(const Graph &graph, llvm::raw_ostream &os);
void print(const Model &model, llvm::raw_ostream &os);
std::string str(const Graph &graph);

// Opens the file that a data clause names, checks that [offset, offset + bytes) lies inside, and
// returns it mapped.
using DataResolver = std::function<ConstRef(llvm::StringRef file, uint64_t offset, uint64_t bytes,
                                            DType dtype, llvm::ArrayRef<int64_t> dims)>;

// Throws Error with line and column. Without a resolver data(...) clauses are refused.
Graph parseGraph(llvm::StringRef text, const DataResolver &resolve = nullptr);
bool isEngineIr(llvm::StringRef text); // first line "engine-ir 1"

} // namespace engine::ir
