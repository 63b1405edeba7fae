// The IR as text, `engine-ir 1`. Every state of a graph prints, parses back to an equal one and verifies.
//
//   engine-ir 1
//   input %input_ids : i64[batch, S]
//   input %mode : i32[] = {$mode} default {1}
//   %w = const {data=f32[2, 2]{1, 2, 3.5, -0}} : f32[2, 2]
//   %embed = const {data=f32[256, 64] file("model.onnx.data", 4096, 65536)} : f32[256, 64]
//   %y, _ = sdpa(q=%q, k=%k, v=%v, keyLen=%n) {scale=0.25, band=[.., 0], ...} : f32[B, N, S, H], _ @"/layers.0/attn" #"ai.onnx.Attention"
//   output %y as "logits"
//
// Fields at their default are left out. A value or symbol whose name is no plain identifier is quoted: %"a b".
// `@` gives the node's name, `#` the ONNX operator it came from. Types after the colon are checked against inference.
#pragma once

#include "ir/graph.h"

#include "llvm/Support/raw_ostream.h"

namespace engine::ir {

void print(const Graph &graph, llvm::raw_ostream &os);
void print(const Model &model, llvm::raw_ostream &os);
std::string str(const Graph &graph);

// Opens the file that a data clause names, checks that [offset, offset + bytes) lies inside, and returns it mapped.
using DataResolver =
    std::function<ConstRef(llvm::StringRef file, uint64_t offset, uint64_t bytes, DType dtype, llvm::ArrayRef<int64_t> dims)>;

// Throws Error with line and column. Without a resolver file(...) clauses are refused.
Graph parseGraph(llvm::StringRef text, const DataResolver &resolve = nullptr);
bool isEngineIr(llvm::StringRef text); // first line "engine-ir 1"

} // namespace engine::ir
