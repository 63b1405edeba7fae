// Is an output what was expected? The rules of the command line's --approx.
#pragma once

#include "runtime/engine.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>
#include <vector>

namespace engine {

// |got - expected| <= absolute + relative * |expected|
struct Tolerance {
  double absolute = 0;
  double relative = 0;
};

// What a float output may differ by, by its element type. Integers and bools are always exact.
class Tolerances {
public:
  enum class Level { kExact, kClose, kApproximate };

  explicit Tolerances(Level level = Level::kClose) : level_(level) {}
  // The same for every float type.
  explicit Tolerances(Tolerance fixed) : fixed_(fixed) {}
  // "exact", "close", "approximate" or "ATOL,RTOL". Throws Error.
  static Tolerances parse(llvm::StringRef text);

  Tolerance of(DType dtype) const;
  // At least this much for every float type.
  void widen(Tolerance least) { least_ = least; }

private:
  Level level_ = Level::kClose;
  std::optional<Tolerance> fixed_;
  Tolerance least_;
};

// Empty, or a sentence that names the output, how many elements are off, the first of them and the
// largest error. NaN equals NaN. `mask`, where defined: bool, of the same shape; only its true
// elements count.
std::string compareTensors(llvm::StringRef output, const Tensor &got, const Tensor &expected,
                           const Tolerances &tolerances, const Tensor &mask = {});

// One sentence for each of `outputs` that is not as expected or that `expected` lacks.
std::vector<std::string> compareOutputs(llvm::ArrayRef<ValueInfo> outputs, const Tensors &got,
                                        const Tensors &expected, const Tensors &masks,
                                        const Tolerances &tolerances);

// "f32[2, 3]"
std::string typeText(const Tensor &tensor);

} // namespace engine
