#include "frontend/importer.h"

namespace engine::frontend {

namespace {

std::string keyOf(llvm::StringRef domain, llvm::StringRef type) {
  return domain.str() + "." + type.str();
}

std::vector<ImporterRow> allRows() {
  std::vector<ImporterRow> rows;
  for (llvm::ArrayRef<ImporterRow> kind :
       {elementwiseImporters(), matmulImporters(), shapeImporters(), indexImporters(),
        reduceImporters(), normImporters(), quantImporters(), controlImporters(), rotaryImporters(),
        attentionImporters(), gqaImporters(), cacheImporters()})
    rows.insert(rows.end(), kind.begin(), kind.end());
  return rows;
}

using Index = llvm::StringMap<llvm::SmallVector<const ImporterRow *, 2>>;

Index indexOf(llvm::ArrayRef<ImporterRow> rows) {
  Index index;
  for (const ImporterRow &row : rows)
    index[keyOf(row.domain, row.type)].push_back(&row);
  return index;
}

} // namespace

llvm::ArrayRef<ImporterRow> importerTable() {
  static const std::vector<ImporterRow> kRows = allRows();
  return kRows;
}

const ImporterRow *findImporter(llvm::StringRef domain, llvm::StringRef type, int opset) {
  static const Index kIndex = indexOf(importerTable());
  const auto found = kIndex.find(keyOf(domain, type));
  if (found == kIndex.end())
    return nullptr;
  for (const ImporterRow *row : found->second)
    if (row->since <= opset && opset <= row->until)
      return row;
  return nullptr;
}

} // namespace engine::frontend
