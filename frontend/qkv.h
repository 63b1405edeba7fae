// What the attention importers share: queries, keys and values between the layouts of ONNX and [B,
// heads, rows, H].
#pragma once

#include "frontend/importer.h"

namespace engine::frontend {

// [B, rows, heads * H] as [B, rows, heads, H].
ir::ValueId splitHeads(ImportContext &ctx, ir::ValueId x, int64_t heads, const ir::Dim &headSize,
                       llvm::StringRef suffix);
// Axes 1 and 2 exchanged: [B, rows, heads, H] <-> [B, heads, rows, H].
ir::ValueId exchangeHeadsAndRows(ImportContext &ctx, ir::ValueId x, llvm::StringRef suffix);
// [B, heads, rows, H] as [B, rows, heads * H], under an ONNX output's name.
ir::ValueId mergeHeads(ImportContext &ctx, ir::ValueId x, llvm::StringRef suffix,
                       llvm::StringRef name = "");

// past [B, heads, P, H] followed by update [B, heads, L, H], under an ONNX output's name.
ir::ValueId appendToPast(ImportContext &ctx, ir::ValueId past, ir::ValueId update,
                         llvm::StringRef suffix, llvm::StringRef name);

// Elements [start, start + length) of an axis.
ir::ValueId sliceAxis(ImportContext &ctx, ir::ValueId x, int64_t axis, const ir::Dim &start,
                      const ir::Dim &length, llvm::StringRef suffix);

// The width of one of `parts` equal parts of the last dim. Throws at the input where it does not
// divide.
ir::Dim partWidth(const ir::Fact &fact, int64_t parts, llvm::StringRef inputName);

} // namespace engine::frontend
