// Masks made of comparisons of positions, read back as intervals (design.md, rule 2). Only what
// follows from the operators is concluded: positions that are data stay a mask.
#pragma once

#include "lowering/match.h"

namespace engine::lowering {

// A bool tensor that hides where it is false, or where it is true.
struct Condition {
  ir::ValueId value;
  bool negated = false;
};

// Row i sees column j only where j <= i + at (upper) or j >= i + at.
struct Diagonal {
  bool upper = true;
  ir::Dim at;
  Condition source; // what says so
};

// What a mask says: every diagonal and every condition holds.
struct MaskParts {
  std::vector<Diagonal> diagonals;
  std::vector<Condition> conditions;
};

// Adds what `condition`, which broadcasts to [.., rows, columns], says.
void splitCondition(const Matcher &matcher, Condition condition, const ir::Dim &rows,
                    const ir::Dim &columns, MaskParts &parts);

// A bias that is 0 where a condition holds and `hidden` elsewhere.
struct SelectedBias {
  std::vector<Condition> visible; // one, or one diagonal
  std::vector<Diagonal> diagonals;
  double hidden = 0;
};
std::optional<SelectedBias> selectedBias(const Matcher &matcher, ir::ValueId bias,
                                         const ir::Dim &rows, const ir::Dim &columns);

// The diagonals as a band. Those that it cannot hold become conditions.
struct BandAt {
  Band band;
  ir::Dim offset;
};
BandAt bandOf(MaskParts &parts);

// Every row of [rows, columns] sees a column, whatever the symbols are.
bool everyRowSees(const BandAt &at, const ir::Dim &rows, const ir::Dim &columns);

} // namespace engine::lowering
