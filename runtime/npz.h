// Files of named arrays: numpy's .npz, a zip archive of .npy entries.
//
// Read: stored or deflated entries; npy 1.0, 2.0 and 3.0; f2 f4 f8, i1 to i8, u1 to u8, b1 in
// either byte order; V2 is bf16 as ml_dtypes writes it; Fortran order is turned into row-major.
// Anything else is refused.
#pragma once

#include "runtime/engine.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace engine {

struct NamedTensor {
  std::string name; // without ".npy"
  Tensor tensor;
};

// In the file's order. Throws Error with the file and the entry at fault; an array without memory
// for it throws std::bad_alloc.
std::vector<NamedTensor> readNpz(const std::string &path);

// Writes stored entries, in order, with the same bytes on every run. i4 and u4 are widened to i8
// and u8. Throws Error.
void writeNpz(const std::string &path, llvm::ArrayRef<NamedTensor> arrays);

// What an npy header says.
struct NpyHeader {
  DType dtype = DType::kUndefined;
  bool swapped = false; // the file's byte order is not this machine's
  bool fortranOrder = false;
  std::vector<int64_t> shape;
  size_t payload = 0; // bytes of elements that follow
};

// `text` is the dictionary: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }. Throws
// Error.
NpyHeader parseNpyHeader(llvm::StringRef text);

} // namespace engine
