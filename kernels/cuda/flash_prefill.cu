#include "kernels/cuda/flash_prefill.cuh"

using namespace engine;
using namespace engine::cuda;

ENGINE_KERNEL_ENTRY(flashPrefillF16W64, 128, SdpaArgs, (flashPrefill<Half, 64>))
ENGINE_KERNEL_ENTRY(flashPrefillF16W128, 128, SdpaArgs, (flashPrefill<Half, 128>))
ENGINE_KERNEL_ENTRY(flashPrefillF16W192, 128, SdpaArgs, (flashPrefill<Half, 192>))
ENGINE_KERNEL_ENTRY(flashPrefillF16W256, 128, SdpaArgs, (flashPrefill<Half, 256>))
ENGINE_KERNEL_ENTRY(flashPrefillBF16W64, 128, SdpaArgs, (flashPrefill<BFloat16, 64>))
ENGINE_KERNEL_ENTRY(flashPrefillBF16W128, 128, SdpaArgs, (flashPrefill<BFloat16, 128>))
ENGINE_KERNEL_ENTRY(flashPrefillBF16W192, 128, SdpaArgs, (flashPrefill<BFloat16, 192>))
ENGINE_KERNEL_ENTRY(flashPrefillBF16W256, 128, SdpaArgs, (flashPrefill<BFloat16, 256>))
