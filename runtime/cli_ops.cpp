#include "frontend/importer.h"
#include "runtime/cli.h"

namespace engine::cli {

namespace {

using frontend::ImporterRow;
using frontend::kLatest;

std::string domainOf(const ImporterRow &row) { return *row.domain ? row.domain : "ai.onnx"; }

std::string versionsOf(const ImporterRow &row) {
  if (row.until == kLatest)
    return std::to_string(row.since) + "+";
  return row.since == row.until ? std::to_string(row.since)
                                : std::to_string(row.since) + "-" + std::to_string(row.until);
}

// "f32 f16" -> ["f32", "f16"]
std::vector<std::string> words(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef, 16> parts;
  text.split(parts, ' ', -1, false);
  return {parts.begin(), parts.end()};
}

nlohmann::json rowJson(const ImporterRow &row) {
  auto limit = [](int number) {
    return number == kLatest ? nlohmann::json() : nlohmann::json(number);
  };
  nlohmann::json attributes = nlohmann::json::array();
  for (const std::string &attribute : words(row.attributes)) {
    const auto [name, type] = llvm::StringRef(attribute).split(':');
    attributes.push_back({{"name", name.str()}, {"type", type.str()}});
  }
  return {{"domain", domainOf(row)},
          {"operator", row.type},
          {"since", row.since},
          {"until", limit(row.until)},
          {"min_inputs", row.minInputs},
          {"max_inputs", limit(row.maxInputs)},
          {"max_outputs", limit(row.maxOutputs)},
          {"types", words(row.types)},
          {"attributes", attributes},
          {"refused", row.refusals}};
}

std::string joined(const std::vector<std::string> &words) {
  std::string text;
  for (const std::string &word : words)
    text += (text.empty() ? "" : " ") + word;
  return text;
}

} // namespace

int ops(const OpsCommand &command) {
  std::vector<const ImporterRow *> rows;
  for (const ImporterRow &row : frontend::importerTable())
    rows.push_back(&row);
  llvm::stable_sort(rows, [](const ImporterRow *a, const ImporterRow *b) {
    const llvm::StringRef aType(a->type), bType(b->type);
    const std::string aDomain = domainOf(*a), bDomain = domainOf(*b);
    return std::tie(aDomain, aType, a->since) < std::tie(bDomain, bType, b->since);
  });
  if (command.json) {
    nlohmann::json json = nlohmann::json::array();
    for (const ImporterRow *row : rows)
      json.push_back(rowJson(*row));
    printJson(json);
    return kDone;
  }
  for (const ImporterRow *row : rows) {
    std::string text = domainOf(*row) + "." + row->type + " " + versionsOf(*row) + "\n";
    auto line = [&](const char *what, const std::string &content) {
      if (!content.empty())
        text += std::string("    ") + what + content + "\n";
    };
    line("types       ", joined(words(row->types)));
    line("attributes  ", joined(words(row->attributes)));
    line("refused     ", row->refusals);
    print(text);
  }
  return kDone;
}

} // namespace engine::cli
