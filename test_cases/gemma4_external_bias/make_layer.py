"""Writes layer.npz: one sliding attention layer of transformers' Gemma-4 with random weights, and what it computes.

Needs torch and transformers 5.24, which nothing else here does: run it by hand, in an environment that has them.
The mask is transformers' own: causal or in one image block, inside the window, padding hidden.
"""

from pathlib import Path

import numpy as np
import torch
from transformers.models.gemma4 import modeling_gemma4 as gemma4
from transformers.models.gemma4.configuration_gemma4 import Gemma4TextConfig

BATCH, ROWS, HIDDEN, HEADS, KV_HEADS, HEAD_SIZE, WINDOW = 2, 12, 16, 4, 2, 8, 4
BLOCKS = np.full((BATCH, ROWS), -1)
BLOCKS[:, 2:5] = 0
BLOCKS[:, 7:10] = 1
PADDING = np.zeros((BATCH, ROWS), bool)
PADDING[1, 9:11] = True


class Recorder:
    """Stands in for a cache: keeps the keys and values that the layer makes."""

    def update(self, keys, values, layer, **_):
        self.keys, self.values = keys, values
        return keys, values


def main():
    torch.manual_seed(4)
    config = Gemma4TextConfig(
        hidden_size=HIDDEN, num_attention_heads=HEADS, num_key_value_heads=KV_HEADS, head_dim=HEAD_SIZE,
        global_head_dim=HEAD_SIZE, num_hidden_layers=2, layer_types=["sliding_attention", "full_attention"],
        sliding_window=WINDOW, num_kv_shared_layers=0, intermediate_size=32, vocab_size=32,
        hidden_size_per_layer_input=0, use_bidirectional_attention="vision")
    config._attn_implementation = "eager"
    layer = gemma4.Gemma4TextAttention(config, 0).eval()
    for parameter in layer.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    hidden = torch.randn(BATCH, ROWS, HIDDEN)
    positions = torch.arange(ROWS)[None].expand(BATCH, ROWS)
    cos, sin = gemma4.Gemma4TextRotaryEmbedding(config)(hidden, positions, "sliding_attention")
    masks = gemma4.create_masks_for_vision_model(
        config, hidden, torch.from_numpy(~PADDING).long(), None, positions, torch.from_numpy(BLOCKS))
    mask = masks["sliding_attention"]
    recorder = Recorder()
    with torch.no_grad():
        output, _ = layer(hidden, (cos, sin), mask, {}, cache=recorder)
    half = HEAD_SIZE // 2
    arrays = {name.replace(".", "_"): value.detach().numpy() for name, value in layer.named_parameters()}
    arrays |= {
        "hidden": hidden.numpy(), "cos": cos.numpy()[:, :, :half], "sin": sin.numpy()[:, :, :half],
        "visible": (mask >= 0).numpy(), "blocks": BLOCKS, "padding": PADDING, "window": np.array(WINDOW),
        "epsilon": np.array(config.rms_norm_eps), "output": output.numpy(),
        "keys": recorder.keys.numpy(), "values": recorder.values.numpy(),
    }
    np.savez(Path(__file__).resolve().parent / "layer.npz", **arrays)


if __name__ == "__main__":
    main()
