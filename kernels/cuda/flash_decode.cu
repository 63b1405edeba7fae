#include "kernels/cuda/flash_decode.cuh"

using namespace engine;
using namespace engine::cuda;

ENGINE_KERNEL_ENTRY(flashDecodeF16W64, 128, DecodeArgs, (flashDecode<Half, Half, 64>))
ENGINE_KERNEL_ENTRY(flashDecodeF16W128, 128, DecodeArgs, (flashDecode<Half, Half, 128>))
ENGINE_KERNEL_ENTRY(flashDecodeF16W192, 128, DecodeArgs, (flashDecode<Half, Half, 192>))
ENGINE_KERNEL_ENTRY(flashDecodeF16W256, 128, DecodeArgs, (flashDecode<Half, Half, 256>))
ENGINE_KERNEL_ENTRY(flashDecodeBF16W64, 128, DecodeArgs, (flashDecode<BFloat16, BFloat16, 64>))
ENGINE_KERNEL_ENTRY(flashDecodeBF16W128, 128, DecodeArgs, (flashDecode<BFloat16, BFloat16, 128>))
ENGINE_KERNEL_ENTRY(flashDecodeBF16W192, 128, DecodeArgs, (flashDecode<BFloat16, BFloat16, 192>))
ENGINE_KERNEL_ENTRY(flashDecodeBF16W256, 128, DecodeArgs, (flashDecode<BFloat16, BFloat16, 256>))
ENGINE_KERNEL_ENTRY(flashDecodeF16I8W64, 128, DecodeArgs, (flashDecode<Half, int8_t, 64>))
ENGINE_KERNEL_ENTRY(flashDecodeF16I8W128, 128, DecodeArgs, (flashDecode<Half, int8_t, 128>))
ENGINE_KERNEL_ENTRY(flashDecodeF16I8W192, 128, DecodeArgs, (flashDecode<Half, int8_t, 192>))
ENGINE_KERNEL_ENTRY(flashDecodeF16I8W256, 128, DecodeArgs, (flashDecode<Half, int8_t, 256>))
ENGINE_KERNEL_ENTRY(flashDecodeBF16I8W64, 128, DecodeArgs, (flashDecode<BFloat16, int8_t, 64>))
ENGINE_KERNEL_ENTRY(flashDecodeBF16I8W128, 128, DecodeArgs, (flashDecode<BFloat16, int8_t, 128>))
ENGINE_KERNEL_ENTRY(flashDecodeBF16I8W192, 128, DecodeArgs, (flashDecode<BFloat16, int8_t, 192>))
ENGINE_KERNEL_ENTRY(flashDecodeBF16I8W256, 128, DecodeArgs, (flashDecode<BFloat16, int8_t, 256>))
ENGINE_KERNEL_ENTRY(flashDecodeMergeF16, 128, DecodeArgs, (flashDecodeMerge<Half>))
ENGINE_KERNEL_ENTRY(flashDecodeMergeBF16, 128, DecodeArgs, (flashDecodeMerge<BFloat16>))
