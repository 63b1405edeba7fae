// The two attention operators behind attentionImporters().
#pragma once

#include "frontend/importer.h"

namespace engine::frontend {

void importAttention(ImportContext &ctx);          // ai.onnx Attention 23 to 25
void importMultiHeadAttention(ImportContext &ctx); // com.microsoft

} // namespace engine::frontend
