// Softmax, RmsNorm, LayerNorm: everything in f64 between loading and storing.
#include "kernels/reference/support.h"

#include <cmath>
#include <limits>

namespace engine {
namespace reference {
namespace {

using Doubles = Elements<double>;

// --- Softmax -------------------------------------------------------------------------------------

// NaN, and a line of -inf alone, give NaN throughout.
void softmaxInPlace(llvm::MutableArrayRef<double> line, bool log) {
  double top = -std::numeric_limits<double>::infinity();
  for (double value : line)
    top = std::max(top, value);
  double sum = 0;
  for (double &value : line) {
    value -= top;
    sum += std::exp(value);
  }
  for (double &value : line)
    value = log ? value - std::log(sum) : std::exp(value) / sum;
}

void runSoftmax(const ir::Softmax &op, const KernelCall &call) {
  const int axis = normalAxis(op.axis, call.operand(0).rank);
  Index perm;
  for (int i = 0; i < call.operand(0).rank; ++i)
    if (i != axis)
      perm.push_back(i);
  perm.push_back(axis);
  const View x = permuted(call.operand(0), perm), y = permuted(call.result(0), perm);
  forEachInner({x, y}, x.rank - 1, [&](llvm::ArrayRef<View> lines) {
    Doubles line = loadAll<double>(lines[0]);
    softmaxInPlace(line, op.log);
    storeAll<double>(lines[1], line);
  });
}

// --- Norms ---------------------------------------------------------------------------------------

double mean(llvm::ArrayRef<double> values) {
  double sum = 0;
  for (double value : values)
    sum += value;
  return sum / static_cast<double>(values.size());
}

double meanOfSquares(llvm::ArrayRef<double> values, double center) {
  double sum = 0;
  for (double value : values)
    sum += (value - center) * (value - center);
  return sum / static_cast<double>(values.size());
}

void runRmsNorm(const ir::RmsNorm &op, const KernelCall &call) {
  const View x = call.operand(0), y = call.result(0);
  const View scale = broadcastTo(call.operand(1), dimsOf(x));
  forEachInner({x, scale, y}, normalAxis(op.axis, x.rank), [&](llvm::ArrayRef<View> parts) {
    Doubles values = loadAll<double>(parts[0]);
    const Doubles scales = loadAll<double>(parts[1]);
    const double inverse = 1 / std::sqrt(meanOfSquares(values, 0) + op.epsilon);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] *= inverse * scales[i];
    storeAll<double>(parts[2], values);
  });
}

// One element for each normalised group, or nothing for a result that is not used.
class Statistics {
public:
  Statistics(const View &result) : result_(result) {}
  void add(double value) { values_.push_back(value); }
  void store() const {
    if (result_.present())
      storeAll<double>(result_, values_);
  }

private:
  View result_;
  Doubles values_;
};

void runLayerNorm(const ir::LayerNorm &op, const KernelCall &call) {
  const View x = call.operand(0), y = call.result(0);
  const View scale = broadcastTo(call.operand(1), dimsOf(x));
  const bool hasBias = call.operand(2).present();
  const View bias = hasBias ? broadcastTo(call.operand(2), dimsOf(x)) : scale;
  Statistics means(call.result(1)), inverses(call.result(2));
  forEachInner({x, scale, bias, y}, normalAxis(op.axis, x.rank), [&](llvm::ArrayRef<View> parts) {
    Doubles values = loadAll<double>(parts[0]);
    const Doubles scales = loadAll<double>(parts[1]), biases = loadAll<double>(parts[2]);
    const double center = mean(values);
    const double inverse = 1 / std::sqrt(meanOfSquares(values, center) + op.epsilon);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = (values[i] - center) * inverse * scales[i] + (hasBias ? biases[i] : 0);
    storeAll<double>(parts[3], values);
    means.add(center);
    inverses.add(inverse);
  });
  means.store();
  inverses.store();
}

} // namespace
} // namespace reference

llvm::ArrayRef<KernelRow> referenceNormRows() {
  using namespace reference;
  static const KernelRow kRows[] = {
      referenceRow<ir::Softmax, runSoftmax>(),
      referenceRow<ir::RmsNorm, runRmsNorm>(),
      referenceRow<ir::LayerNorm, runLayerNorm>(),
  };
  return kRows;
}

} // namespace engine
