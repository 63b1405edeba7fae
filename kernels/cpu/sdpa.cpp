// The fused attention kernel (attention.h) as a row of the backend.
#include "kernels/cpu/attention.h"
#include "kernels/cpu/rows.h"
#include "kernels/sdpa_bind.h"

namespace engine::cpu {

namespace {

class FlashSdpa final : public Kernel {
public:
  explicit FlashSdpa(const KernelProblem &problem)
      : op_(problem.op<ir::Sdpa>()), isa_(problem.options.isa) {}

  std::string whyNotNow(const KernelCall &call) const override {
    const char *why = attentionWhyNot(makeSdpaProblem(op_, call));
    return why ? why : "";
  }

  int64_t scratchBytes(const KernelCall &call) const override {
    return attentionScratchBytes(makeSdpaProblem(op_, call), call.threads);
  }

  void run(const KernelCall &call) const override {
    attention(makeSdpaProblem(op_, call), call.threads, call.scratch, isa_);
  }

private:
  ir::Sdpa op_;
  Isa isa_;
};

std::string flashWhyNot(const KernelProblem &problem) {
  if (problem.op<ir::Sdpa>().scores != ir::Scores::kNone)
    return "the scores are an output, and this kernel never holds them";
  return {};
}

std::unique_ptr<Kernel> makeFlash(const KernelProblem &problem) {
  return std::make_unique<FlashSdpa>(problem);
}

constexpr KernelRow kRows[] = {
    {ir::opIndex<ir::Sdpa>(), "flash", /*acceptsStrides=*/true, flashWhyNot, makeFlash,
     /*decidesLate=*/true},
};

} // namespace

llvm::ArrayRef<KernelRow> sdpaRows() { return kRows; }

} // namespace engine::cpu
