// What the attention importers share: queries, keys and values between the layouts of ONNX and
// [B, heads, rows, H], and the way from past to present.
#pragma once

#include "frontend/input_checks.h"

namespace engine::frontend {

// The outputs of all three attention operators.
enum Output { kOut, kPresentKey, kPresentValue, kScores };

// [B, rows, heads * H] as [B, rows, heads, H].
ir::ValueId splitHeads(ImportContext &ctx, ir::ValueId x, int64_t heads, const ir::Dim &headSize,
                       llvm::StringRef suffix);
// Axes 1 and 2 exchanged: [B, rows, heads, H] <-> [B, heads, rows, H].
ir::ValueId exchangeHeadsAndRows(ImportContext &ctx, ir::ValueId x, llvm::StringRef suffix);
// [B, heads, rows, H] as [B, rows, heads * H], under an ONNX output's name.
ir::ValueId mergeHeads(ImportContext &ctx, ir::ValueId x, llvm::StringRef suffix,
                       llvm::StringRef name = "");

// New keys and values [B, heads, L, H] become those [B, heads, P + L, H] behind the past, if there
// is one, and both the present outputs.
void updateCache(ImportContext &ctx, Input pastKey, Input pastValue, ir::ValueId &k,
                 ir::ValueId &v);

// An integer input [batch] of key counts as i64, each checked to be in [0, rows] when it runs.
ir::ValueId keyCounts(ImportContext &ctx, Input input, const ir::Dim &batch, const ir::Dim &rows);

// Elements [start, start + length) of an axis.
ir::ValueId sliceAxis(ImportContext &ctx, ir::ValueId x, int64_t axis, const ir::Dim &start,
                      const ir::Dim &length, llvm::StringRef suffix);

// The width of one of `parts` equal parts of the last dim. Throws at the input where it does not
// divide.
ir::Dim partWidth(const ir::Fact &fact, int64_t parts, llvm::StringRef inputName);

} // namespace engine::frontend
