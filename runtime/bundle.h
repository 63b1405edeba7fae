// Bundles: an .npz with what goes into a model and what should come out, arrays by graph name.
//
// A name may carry a prefix: in: an input, out: an expected output, cmp: a mask of the elements of
// an output that count. Without one it must be an input (those with defaults included) or an
// output. Any other array is refused by name.
#pragma once

#include "runtime/engine.h"
#include "runtime/npz.h"

#include "llvm/ADT/ArrayRef.h"

#include <string>

namespace engine {

struct Bundle {
  Tensors inputs, expected, masks;
};

// Throws Error. With `castInputs` inputs of another float type than the model's are converted.
Bundle readBundle(const std::string &path, llvm::ArrayRef<ValueInfo> inputs,
                  llvm::ArrayRef<ValueInfo> outputs, bool castInputs = false);
Bundle sortBundle(llvm::ArrayRef<NamedTensor> arrays, llvm::ArrayRef<ValueInfo> inputs,
                  llvm::ArrayRef<ValueInfo> outputs, bool castInputs = false);

// Gives a tensor the element type of the input that it is for, or throws Error saying which it must
// have. numpy has no i4 and u4: arrays of i8 and u8 are packed.
Tensor fitInput(const Tensor &tensor, DType wanted, bool cast);

} // namespace engine
