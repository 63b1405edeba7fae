// CheckDims and CheckLengths: what inference had to leave to the run.
#include "kernels/check_dims.h"
#include "kernels/reference/attention_rows.h"

namespace engine::reference {

void runCheckDims(const ir::CheckDims &op, const KernelCall &call) {
  checkDims(op, call.symbols);
  copyView(call.operand(0), call.result(0));
}

void runCheckLengths(const ir::CheckLengths &op, const KernelCall &call) {
  const int64_t limit = op.limit.evaluate(call.symbols);
  const auto values = loadAll<int64_t>(call.operand(0));
  for (size_t b = 0; b < values.size(); ++b)
    if (values[b] < 0 || values[b] > limit)
      throw Error("value " + std::to_string(values[b]) + " of entry " + std::to_string(b) +
                  " is out of range [0, " + std::to_string(limit) + "]")
          .at(op.item);
  storeAll<int64_t>(call.result(0), values);
}

} // namespace engine::reference
