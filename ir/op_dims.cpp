#include "ir/op_dims.h"

namespace engine::ir {

namespace {

// Calls visit on every dim of a field; fields without dims are passed over.
template <class Visit> struct EachDim {
  Visit visit;

  template <class Field> void operator()(const char *, Field &field) { apply(field); }

private:
  template <class T> void apply(T &) {}
  void apply(Dim &dim) { visit(dim); }
  void apply(const Dim &dim) { visit(dim); }
  void apply(Shape &shape) { llvm::for_each(shape, visit); }
  void apply(const Shape &shape) { llvm::for_each(shape, visit); }
};

} // namespace

void collectSymbols(const Op &op, llvm::SmallVectorImpl<std::string> &symbols) {
  const auto collect = [&](const Dim &dim) { dim.collectSymbols(symbols); };
  std::visit(
      [&](const auto &fields) {
        std::decay_t<decltype(fields)>::fields(fields, EachDim<decltype(collect)>{collect});
      },
      op);
}

Op substitute(const Op &op, const llvm::StringMap<Dim> &values) {
  Op result = op;
  const auto replace = [&](Dim &dim) {
    if (!dim.isConstant())
      dim = dim.substitute(values);
  };
  std::visit(
      [&](auto &fields) {
        std::decay_t<decltype(fields)>::fields(fields, EachDim<decltype(replace)>{replace});
      },
      result);
  return result;
}

} // namespace engine::ir
