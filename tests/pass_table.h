// Passes tested as text in, text out.
#pragma once

#include "ir/infer.h"
#include "ir/text.h"

#include <doctest/doctest.h>

#include <functional>
#include <string>

namespace engine {

struct PassRow {
  const char *why;
  const char *before; // without the first line
  const char *after;
};

inline ir::Graph parseBody(const char *body) {
  return ir::parseGraph(std::string("engine-ir 1\n") + body);
}

inline void checkPass(llvm::ArrayRef<PassRow> rows,
                      const std::function<ir::Graph(const ir::Graph &)> &pass) {
  for (const PassRow &row : rows) {
    const std::string why = row.why;
    CAPTURE(why);
    const ir::Graph result = pass(parseBody(row.before));
    ir::verify(result);
    CHECK(ir::str(result) == ir::str(parseBody(row.after)));
    // What is settled stays.
    CHECK(ir::str(pass(result)) == ir::str(result));
  }
}

} // namespace engine
