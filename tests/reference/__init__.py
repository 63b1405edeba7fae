"""A float64 numpy reference of the attention operators and of what stands next to them.

It is written from what the operators mean and knows nothing of the engine. All arithmetic is
float64; results are float64 except for caches, which keep the type they are stored in. An input
that the rules forbid raises `Refused`.
"""

from .attention import attention
from .attend import Refused
from .gqa import group_query_attention
from .mha import multi_head_attention
from .norms import (
    rms_normalization,
    simplified_layer_normalization,
    skip_simplified_layer_normalization,
)
from .rotary import contrib_rotary_embedding, rotary_embedding
from .tensor_scatter import tensor_scatter

__all__ = [
    "Refused",
    "attention",
    "contrib_rotary_embedding",
    "group_query_attention",
    "multi_head_attention",
    "rms_normalization",
    "rotary_embedding",
    "simplified_layer_normalization",
    "skip_simplified_layer_normalization",
    "tensor_scatter",
]
