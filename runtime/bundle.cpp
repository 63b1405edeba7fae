#include "runtime/bundle.h"

#include "frontend/quote.h"
#include "ir/dtype_name.h"
#include "ir/error.h"
#include "runtime/elements.h"

#include <new>

namespace engine {

namespace {

Tensor newTensor(DType dtype, const std::vector<int64_t> &shape) {
  Tensor tensor = Tensor::zeros(dtype, shape);
  if (!tensor.defined())
    throw std::bad_alloc();
  return tensor;
}

bool packs(DType from, DType to) {
  return (from == DType::kI8 && to == DType::kI4) || (from == DType::kU8 && to == DType::kU4);
}

Tensor packed(const Tensor &wide, DType dtype) {
  Tensor tensor = newTensor(dtype, wide.shape());
  const int lowest = dtype == DType::kI4 ? -8 : 0;
  withLoader(wide.dtype(), [&](auto load) {
    for (int64_t i = 0; i < wide.count(); ++i) {
      const auto value = static_cast<int64_t>(load(wide.data(), i));
      if (value < lowest || value > lowest + 15)
        throw Error("element " + std::to_string(i) + " is " + std::to_string(value) +
                    ", which is no " + dtypeLongName(dtype));
      tensor.as<uint8_t>()[i / 2] |= static_cast<uint8_t>((value & 15) << (i % 2 * 4));
    }
  });
  return tensor;
}

Tensor converted(const Tensor &from, DType dtype) {
  Tensor to = newTensor(dtype, from.shape());
  withLoader(from.dtype(), [&](auto load) {
    for (int64_t i = 0; i < from.count(); ++i)
      storeElement(dtype, to.data(), i, load(from.data(), i));
  });
  return to;
}

const ValueInfo *find(llvm::ArrayRef<ValueInfo> values, llvm::StringRef name) {
  for (const ValueInfo &value : values)
    if (name == value.name)
      return &value;
  return nullptr;
}

class BundleSorter {
public:
  BundleSorter(llvm::ArrayRef<ValueInfo> inputs, llvm::ArrayRef<ValueInfo> outputs, bool cast)
      : inputs_(inputs), outputs_(outputs), cast_(cast) {}

  void add(const NamedTensor &array) {
    llvm::StringRef name = array.name;
    const bool known = find(inputs_, name) || find(outputs_, name);
    if (!known && name.consume_front("in:"))
      return addInput(required(inputs_, name, array.name, "input"), array.tensor);
    if (!known && name.consume_front("out:"))
      return addOutput(required(outputs_, name, array.name, "output"), array.tensor);
    if (!known && name.consume_front("cmp:"))
      return insert(bundle_.masks, required(outputs_, name, array.name, "output"), array.tensor);
    if (!known)
      throw Error("array " + frontend::quoted(array.name) +
                  " is no input and no output of the model; " + list());
    if (const ValueInfo *input = find(inputs_, name))
      addInput(*input, array.tensor);
    if (const ValueInfo *output = find(outputs_, name))
      addOutput(*output, array.tensor);
  }

  Bundle take() { return std::move(bundle_); }

private:
  const ValueInfo &required(llvm::ArrayRef<ValueInfo> values, llvm::StringRef name,
                            llvm::StringRef array, const char *what) const {
    if (const ValueInfo *value = find(values, name))
      return *value;
    throw Error("array " + frontend::quoted(array) + " names no " + what + " of the model; " +
                list());
  }

  void addInput(const ValueInfo &input, const Tensor &tensor) {
    try {
      insert(bundle_.inputs, input, fitInput(tensor, input.dtype, cast_));
    } catch (Error &error) {
      throw error.at("input " + frontend::quoted(input.name));
    }
  }

  void addOutput(const ValueInfo &output, const Tensor &tensor) {
    insert(bundle_.expected, output,
           packs(tensor.dtype(), output.dtype) ? packed(tensor, output.dtype) : tensor);
  }

  static void insert(Tensors &into, const ValueInfo &value, Tensor tensor) {
    if (!into.emplace(value.name, std::move(tensor)).second)
      throw Error("there are two arrays for " + frontend::quoted(value.name));
  }

  std::string list() const {
    std::string text = "its inputs are";
    auto append = [&](llvm::ArrayRef<ValueInfo> values) {
      constexpr size_t kMost = 12;
      for (size_t i = 0; i < values.size() && i < kMost; ++i)
        text += (i ? ", " : " ") + frontend::printable(values[i].name);
      if (values.empty())
        text += " none";
      if (values.size() > kMost)
        text += " and " + std::to_string(values.size() - kMost) + " more";
    };
    append(inputs_);
    text += ", its outputs";
    append(outputs_);
    return text;
  }

  llvm::ArrayRef<ValueInfo> inputs_, outputs_;
  bool cast_;
  Bundle bundle_;
};

} // namespace

Tensor fitInput(const Tensor &tensor, DType wanted, bool cast) {
  const DType dtype = tensor.dtype();
  if (dtype == wanted || wanted == DType::kUndefined)
    return tensor;
  if (packs(dtype, wanted))
    return packed(tensor, wanted);
  const bool floats = isFloat(dtype) && isFloat(wanted);
  if (floats && cast)
    return converted(tensor, wanted);
  throw Error(std::string("the array is ") + dtypeLongName(dtype) + ", expected " +
              dtypeLongName(wanted) +
              (floats ? " (--cast-inputs converts)" : ""));
}

Bundle sortBundle(llvm::ArrayRef<NamedTensor> arrays, llvm::ArrayRef<ValueInfo> inputs,
                  llvm::ArrayRef<ValueInfo> outputs, bool castInputs) {
  BundleSorter sorter(inputs, outputs, castInputs);
  for (const NamedTensor &array : arrays)
    sorter.add(array);
  return sorter.take();
}

Bundle readBundle(const std::string &path, llvm::ArrayRef<ValueInfo> inputs,
                  llvm::ArrayRef<ValueInfo> outputs, bool castInputs) {
  const std::vector<NamedTensor> arrays = readNpz(path);
  try {
    return sortBundle(arrays, inputs, outputs, castInputs);
  } catch (Error &error) {
    throw error.inFile(path);
  }
}

} // namespace engine
