// One operator on a kernel of the CPU backend and on its reference kernel, over random operands in
// several layouts, for every instruction set that the machine has.
#pragma once

#include "ir/error.h"
#include "ir/half.h"
#include "ir/text.h"
#include "kernels/kernel.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace engine::test {

struct KernelCase {
  const char *why;
  const char *row; // name of the CPU backend's row
  const char *op;  // in the text form, over %a, %b, ...; `_` is absent
  // "f32[2, 3]" is random, "i64[2]{0, 3}" a constant, and "=f32[20, 30]" a random one (of more than
  // 64 elements).
  std::vector<const char *> operands;
  double tolerance = 2e-6; // of 1 + |expected|, in f32; what a rounding costs comes on top
  const char *results = "%y";
  bool denseOnly = false; // other layouts may be refused
  bool exact = true;      // KernelOptions::exact
  Isa least = Isa::kBase; // lower ones are left out
};

// A tensor with memory of its own, in some layout, and 64 bytes behind it that must stay.
class Tensor {
public:
  enum class Layout { kDense, kReversed, kPadded };

  Tensor(DType dtype, llvm::ArrayRef<int64_t> dims, Layout layout = Layout::kDense)
      : view_(makeView(nullptr, dtype, dims)) {
    int64_t elements = view_.count();
    if (layout == Layout::kReversed && !isSubByte(dtype)) {
      int64_t stride = 1;
      for (int i = 0; i < view_.rank; ++i) {
        view_.strides[i] = stride;
        stride *= view_.dims[i];
      }
    } else if (layout == Layout::kPadded && view_.rank > 1 && !isSubByte(dtype)) {
      // Rows stand apart.
      const int64_t width = view_.dims[view_.rank - 1];
      for (int i = 0; i + 1 < view_.rank; ++i)
        view_.strides[i] = view_.strides[i] / std::max<int64_t>(width, 1) * (width + 3);
      elements += 3 * (width ? elements / width : 0);
    }
    bytes_ = byteSize(dtype, elements);
    memory_.reset(static_cast<char *>(std::aligned_alloc(64, (bytes_ + 127) / 64 * 64)));
    std::memset(memory_.get(), 0x5a, (bytes_ + 127) / 64 * 64);
    view_.data = memory_.get();
  }

  const View &view() const { return view_; }
  bool overrun() const {
    for (int64_t i = bytes_; i < (bytes_ + 127) / 64 * 64; ++i)
      if (memory_.get()[i] != 0x5a)
        return true;
    return false;
  }

private:
  struct Free {
    void operator()(char *p) const { std::free(p); }
  };
  View view_;
  int64_t bytes_;
  std::unique_ptr<char, Free> memory_;
};

inline std::vector<Isa> isasHere() {
  std::vector<Isa> isas;
  for (Isa isa : kAllIsas)
    if (isa <= bestIsa())
      isas.push_back(isa);
  return isas;
}

inline ir::ConstRef randomConst(DType dtype, llvm::ArrayRef<int64_t> dims, unsigned seed,
                                bool whole = false) {
  std::mt19937 random(seed);
  const Tensor tensor(dtype, dims);
  const View &view = tensor.view();
  for (int64_t i = 0; i < view.count(); ++i) {
    const bool first = view.rank > 0 && i % view.dims[view.rank - 1] % 16 == 0;
    const float code = first ? 127 : static_cast<float>(random() % 255) - 127;
    const float value = whole ? code / 32 : static_cast<float>(random() % 4001) / 500 - 4;
    switch (dtype) {
    case DType::kF32:
      view.as<float>()[i] = value;
      break;
    case DType::kF16:
      view.as<Half>()[i] = Half(value);
      break;
    case DType::kBF16:
      view.as<BFloat16>()[i] = BFloat16(value);
      break;
    case DType::kI32:
      view.as<int32_t>()[i] = static_cast<int32_t>(random() % 9) - 4;
      break;
    case DType::kI64:
      view.as<int64_t>()[i] = static_cast<int64_t>(random() % 9) - 4;
      break;
    case DType::kBool:
      view.as<uint8_t>()[i] = random() % 2;
      break;
    default: // codes
      view.as<uint8_t>()[isSubByte(dtype) ? i / 2 : i] = static_cast<uint8_t>(random() >> 7);
    }
  }
  return ir::makeConst(dtype, dims, view.data, static_cast<size_t>(view.bytes()));
}

class KernelComparison {
public:
  explicit KernelComparison(const KernelCase &c) : case_(c) {
    std::string inputs, constants;
    for (size_t i = 0; i < c.operands.size(); ++i) {
      const std::string name = std::string("%") + static_cast<char>('a' + i);
      operands_.push_back(operand(c.operands[i], static_cast<unsigned>(i) + 1));
      if (isConstant(c.operands[i]))
        constants += name + " = const {data=" + constantText(i) + "}\n";
      else
        inputs += "input " + name + " : " + (c.operands[i] + (c.operands[i][0] == '~')) + "\n";
    }
    const auto resolve = [&](llvm::StringRef, uint64_t offset, uint64_t, DType,
                             llvm::ArrayRef<int64_t>) { return operands_[offset]; };
    graph_ = ir::parseGraph(
        "engine-ir 1\n" + inputs + constants + c.results + " = " + c.op + "\noutput %y\n", resolve);
  }

  void check() const {
    INFO(std::string(case_.op) << ": " << std::string(case_.why));
    const Results expected = run(referenceRow(), Isa::kBase, 1, Tensor::Layout::kDense);
    for (Isa isa : isasHere())
      for (int threads : {1, 3})
        for (Tensor::Layout layout :
             {Tensor::Layout::kDense, Tensor::Layout::kPadded, Tensor::Layout::kReversed})
          if (isa >= case_.least && !agrees(expected, isa, threads, layout))
            return; // one failure says it
  }

private:
  using Results = std::vector<std::unique_ptr<Tensor>>;

  static bool isConstant(const std::string &text) {
    return text[0] == '=' || text.find('{') != std::string::npos;
  }

  std::string constantText(size_t i) const {
    const std::string text = case_.operands[i];
    if (text[0] != '=')
      return text;
    return text.substr(1) + " file(\"x\", " + std::to_string(i) + ", " +
           std::to_string(operands_[i]->bytes) + ")";
  }

  static ir::ConstRef operand(const std::string &text, unsigned seed) {
    if (text.find('{') != std::string::npos) {
      const ir::Graph graph =
          ir::parseGraph("engine-ir 1\n%c = const {data=" + text + "}\noutput %c\n");
      return graph.nodes()[0].as<ir::Const>()->data;
    }
    const ir::Graph graph =
        ir::parseGraph("engine-ir 1\ninput %x : " + text.substr(text[0] == '=' || text[0] == '~') +
                       "\noutput %x\n");
    const ir::Fact &fact = graph.fact(graph.inputs()[0]);
    llvm::SmallVector<int64_t, 4> dims;
    for (const ir::Dim &dim : fact.shape)
      dims.push_back(*dim.constant());
    return randomConst(fact.dtype, dims, seed, text[0] == '~');
  }

  const ir::Node &node() const { return graph_.nodes().back(); }

  const KernelRow &referenceRow() const {
    for (const KernelRow &row : referenceRows())
      if (row.op == node().op.index())
        return row;
    throw Error::internal("no reference kernel");
  }

  // Null where the row does not take the node with this instruction set.
  const KernelRow *cpuRow(const KernelOptions &options) const {
    for (const KernelRow &row : cpuRows()) {
      if (row.op != node().op.index() || std::strcmp(row.name, case_.row) != 0)
        continue;
      const std::string why = row.whyNot ? row.whyNot({graph_, node(), options}) : std::string();
      CHECK_MESSAGE(why.empty(), why);
      return why.empty() ? &row : nullptr;
    }
    FAIL("the CPU backend has no such row: " << case_.row);
    return nullptr;
  }

  // Empty where the kernel objects.
  Results run(const KernelRow &row, Isa isa, int threads, Tensor::Layout layout) const {
    KernelOptions options;
    options.isa = isa;
    options.exact = case_.exact;
    std::vector<std::unique_ptr<Tensor>> memory;
    std::vector<View> operands, views;
    for (ir::ValueId id : node().operands) {
      if (!id.valid()) {
        operands.push_back(View());
        continue;
      }
      const ir::ConstData &data = *operands_[graph_.value(id).name[0] - 'a'];
      const bool layouts = row.acceptsStrides && !graph_.fact(id).constant;
      memory.push_back(std::make_unique<Tensor>(data.dtype, data.dims,
                                                layouts ? layout : Tensor::Layout::kDense));
      copyView(viewOf(data), memory.back()->view());
      operands.push_back(graph_.fact(id).constant ? viewOf(data) : memory.back()->view());
    }
    Results results;
    for (ir::ValueId id : node().results) {
      if (!id.valid()) {
        views.push_back(View());
        continue;
      }
      llvm::SmallVector<int64_t, 4> dims;
      for (const ir::Dim &dim : graph_.fact(id).shape)
        dims.push_back(*dim.constant());
      results.push_back(std::make_unique<Tensor>(graph_.fact(id).dtype, dims));
      views.push_back(results.back()->view());
    }
    const ir::SymbolValues symbols;
    const std::unique_ptr<Kernel> kernel = row.make({graph_, node(), options});
    KernelCall call{operands, views, symbols, threads, nullptr};
    if (const std::string why = kernel->whyNotNow(call); !why.empty()) {
      CHECK_MESSAGE((case_.denseOnly && layout != Tensor::Layout::kDense), why);
      return {};
    }
    const Tensor scratch(DType::kU8, {kernel->scratchBytes(call)});
    call.scratch = scratch.view().data;
    kernel->run(call);
    CHECK_FALSE(scratch.overrun());
    for (const auto &result : results)
      CHECK_FALSE(result->overrun());
    return results;
  }

  static double rounding(DType type) {
    return type == DType::kF16 ? 1.0 / 1024 : type == DType::kBF16 ? 1.0 / 128 : 0;
  }

  static bool close(double found, double expected, double tolerance) {
    if (std::isnan(expected) || std::isnan(found))
      return std::isnan(expected) && std::isnan(found);
    if (std::isinf(expected) || std::isinf(found))
      return found == expected;
    return std::abs(found - expected) <= tolerance * (1 + std::abs(expected));
  }

  bool agrees(const Results &expected, Isa isa, int threads, Tensor::Layout layout) const {
    INFO(std::string(isaName(isa))
         << ", " << threads << " threads, layout " << static_cast<int>(layout));
    KernelOptions options;
    options.isa = isa;
    options.exact = case_.exact;
    const KernelRow *row = cpuRow(options);
    if (!row)
      return false;
    const Results found = run(*row, isa, threads, layout);
    for (size_t k = 0; k < found.size(); ++k) {
      const View &a = found[k]->view(), &b = expected[k]->view();
      const ir::ConstRef x = ir::makeConst(a.dtype, {a.dims, static_cast<size_t>(a.rank)}, a.data,
                                           static_cast<size_t>(a.bytes()));
      const ir::ConstRef y = ir::makeConst(b.dtype, {b.dims, static_cast<size_t>(b.rank)}, b.data,
                                           static_cast<size_t>(b.bytes()));
      const double tolerance = case_.tolerance + rounding(a.dtype);
      for (int64_t i = 0; i < x->count(); ++i) {
        const bool same = isFloat(a.dtype) ? close(x->floatAt(i), y->floatAt(i), tolerance)
                                           : x->intAt(i) == y->intAt(i);
        if (same)
          continue;
        INFO("result " << k << ", element " << i);
        if (isFloat(a.dtype))
          CHECK(x->floatAt(i) == y->floatAt(i));
        else
          CHECK(x->intAt(i) == y->intAt(i));
        return false;
      }
    }
    return true;
  }

  const KernelCase &case_;
  std::vector<ir::ConstRef> operands_;
  ir::Graph graph_;
};

inline void checkKernels(llvm::ArrayRef<KernelCase> cases) {
  for (const KernelCase &c : cases)
    KernelComparison(c).check();
}

} // namespace engine::test
