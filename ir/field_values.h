// What operator fields have in common: comparison of their values, and walking two operators'
// fields at once.
#pragma once

#include "ir/ops.h"

namespace engine::ir {

template <class T> bool sameValue(const T &a, const T &b) { return a == b; }
// By bits: a NaN equals itself, -0 is not 0.
bool sameValue(const float &a, const float &b);
// By content.
bool sameValue(const ConstRef &a, const ConstRef &b);
bool sameValue(const GraphRef &a, const GraphRef &b);

// The first field in which two operators of one kind differ, or null.
const char *differingField(const Op &a, const Op &b);

// Calls visit(name, field of a, the same field of b) for every field.
template <class T, class Visitor> void zipFields(const T &a, const T &b, Visitor &&visit) {
  int i = 0;
  T::fields(a, [&](const char *name, const auto &x) {
    int j = 0;
    T::fields(b, [&](const char *, const auto &y) {
      if constexpr (std::is_same_v<decltype(x), decltype(y)>) {
        if (i == j)
          visit(name, x, y);
      }
      ++j;
    });
    ++i;
  });
}

} // namespace engine::ir
