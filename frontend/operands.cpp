#include "frontend/operands.h"

namespace engine::frontend {

using ir::Dim;
using ir::ValueId;

int64_t axisInRange(int64_t axis, int64_t rank, llvm::StringRef where) {
  if (axis < -rank || axis >= rank)
    throw Error("value " + std::to_string(axis) + ", expected an axis of rank " +
                std::to_string(rank))
        .at(where.str());
  return axis < 0 ? axis + rank : axis;
}

int64_t axisAttribute(const ImportContext &ctx, int64_t otherwise, int64_t rank) {
  return axisInRange(ctx.attrs.integer("axis", otherwise), rank, "attribute 'axis'");
}

Ints axesInRange(llvm::ArrayRef<int64_t> axes, int64_t rank, llvm::StringRef where) {
  Ints sorted;
  for (int64_t axis : axes)
    sorted.push_back(axisInRange(axis, rank, where));
  llvm::sort(sorted);
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end())
    throw Error("axis " + std::to_string(*twice) + " twice, expected once").at(where.str());
  return sorted;
}

static std::string inputNamed(llvm::StringRef name) { return "input '" + name.str() + "'"; }

Dims knownDims(const ImportContext &ctx, size_t input, llvm::StringRef name) {
  ctx.required(input, name);
  const auto contents = ctx.contents(input);
  if (!contents)
    throw Error("only known when the model runs, expected to be known when it is loaded")
        .at(inputNamed(name));
  return *contents;
}

Ints knownInts(const ImportContext &ctx, size_t input, llvm::StringRef name) {
  Ints values;
  for (const Dim &dim : knownDims(ctx, input, name)) {
    if (!dim.isConstant())
      throw Error("value " + dim.str() + ", expected a number known when the model is loaded")
          .at(inputNamed(name));
    values.push_back(*dim.constant());
  }
  return values;
}

Dim knownDim(const ImportContext &ctx, size_t input, llvm::StringRef name) {
  const Dims dims = knownDims(ctx, input, name);
  if (dims.size() != 1)
    throw Error(std::to_string(dims.size()) + " elements, expected 1").at(inputNamed(name));
  return dims.front();
}

std::optional<Ints> intsFrom(const ImportContext &ctx, const IntsFrom &from) {
  if (!from.isInput)
    return ctx.attrs.integers(from.name);
  if (!ctx.has(from.input))
    return std::nullopt;
  return knownInts(ctx, from.input, from.name);
}

std::string whereOf(const IntsFrom &from) {
  return (from.isInput ? "input '" : "attribute '") + std::string(from.name) + "'";
}

int64_t lengthOf(const ImportContext &ctx, size_t input, llvm::StringRef name) {
  ctx.required(input, name);
  const ir::Fact &fact = ctx.fact(input);
  if (fact.rank() != 1 || !fact.shape[0].isConstant())
    throw Error("shape " + ir::str(fact.shape) + ", expected rank 1 and a known length")
        .at(inputNamed(name));
  return *fact.shape[0].constant();
}

ValueId scalar(ImportContext &ctx, DType type, double value, llvm::StringRef suffix) {
  const ir::ConstRef data = isFloat(type)
                                ? ir::makeFloatConst(type, {}, {value})
                                : ir::makeIntConst(type, {}, {static_cast<int64_t>(value)});
  return ctx.b.constant(data, suffix);
}

ValueId asType(ImportContext &ctx, ValueId value, DType type, llvm::StringRef suffix) {
  return ctx.b.fact(value).dtype == type ? value : ctx.add(ir::Cast{type}, {value}, suffix);
}

ValueId asInt64(ImportContext &ctx, ValueId value) {
  return asType(ctx, value, DType::kI64, "i64");
}

void setAs(ImportContext &ctx, ValueId value, DType type) {
  if (ctx.b.fact(value).dtype == type)
    ctx.set(0, value);
  else
    ctx.emit(ir::Cast{type}, {value});
}

DType wideType(DType type) {
  return type == DType::kF16 || type == DType::kBF16 ? DType::kF32 : type;
}

} // namespace engine::frontend
