"""Cases of whole decoders: prompts and decode steps of a model.onnx, run with onnxruntime."""

from pathlib import Path

import numpy as np
from onnx import helper

from .case import ONNXRUNTIME, random_numbers
from .exported import Exported
from .recorder import Recorder

PAD = 3


def state_output(name):
    """The graph output that carries on state input `name`, or None if it is no state."""
    if name.startswith("past_key_values."):
        return name.replace("past_key_values.", "present.")
    if name.startswith(("key_cache.", "value_cache.")):
        return "updated_" + name
    return None


class Sequence:
    """A batch of token sequences on their way through a decoder.

    style: how the model is fed.
        "gqa"          attention_mask, position_ids if there is that input, sequences padded on
                       the right
        "attention"    attention_mask and position_ids, sequences padded on the left
        "static"       whole caches with write_indices; nonpad_kv_seqlen counts padding rows too
        "static bias"  the same, but nonpad_kv_seqlen counts tokens only
    """

    def __init__(self, decoder, batch):
        self.decoder, self.batch = decoder, batch
        self.tokens = np.zeros(batch, np.int64)
        self.left_padding = np.zeros(batch, np.int64)
        self.rows = 0                               # rows in a growing cache, padding included
        self.state = decoder.empty_state(batch)

    def step(self, ids, lengths=None):
        """Feeds `ids` (B, S), of which entry b has `lengths[b]`; returns (feeds, outputs)."""
        ids = np.asarray(ids, np.int64)
        rows = ids.shape[1]
        lengths = np.full(self.batch, rows) if lengths is None else np.asarray(lengths)
        style = self.decoder.style
        after = self.tokens + lengths
        feeds = {"input_ids": ids}
        if self.decoder.embeddings is not None:
            feeds = {"inputs_embeds": self.decoder.embeddings[ids]}
        if style == "gqa":
            mask = np.arange(self.rows + rows) < after[:, None]
            feeds["attention_mask"] = mask.astype(np.int64)
            if "position_ids" in self.decoder.inputs:
                feeds["position_ids"] = self.tokens[:, None] + np.arange(rows)
        elif style == "attention":
            if self.rows == 0:
                self.left_padding = rows - lengths
            mask = np.arange(self.rows + rows) >= self.left_padding[:, None]
            feeds["attention_mask"] = mask.astype(np.int64)
            positions = np.maximum(np.cumsum(mask, axis=1) - 1, 0)
            feeds["position_ids"] = positions[:, self.rows :].astype(np.int64)
        else:
            feeds["position_ids"] = self.tokens[:, None] + np.arange(rows)
            feeds["write_indices"] = self.tokens.copy()
            counted = after if style == "static bias" else self.tokens + rows
            feeds["nonpad_kv_seqlen"] = counted.astype(np.int64)
        feeds |= self.state
        outputs = self.decoder.exported.run(feeds)
        self.state = {name: outputs[state_output(name)] for name in self.state}
        self.tokens, self.rows = after, self.rows + rows
        return feeds, outputs


class Decoder:
    """The model.onnx beside `script`. `head_size` where the model leaves it symbolic."""

    def __init__(self, script, style, head_size=None):
        self.script, self.style, self.head_size = script, style, head_size
        self.exported = Exported(Path(script).resolve().parent / "model.onnx")
        self.proto = self.exported.proto
        self.recorder = Recorder(script, self.proto)
        self.inputs = {value.name for value in self.proto.graph.input}
        self.embeddings = None
        for value in self.proto.graph.input:
            if value.name == "inputs_embeds":
                size = value.type.tensor_type.shape.dim[2].dim_value
                table = np.random.default_rng(0).standard_normal((320, size))
                self.embeddings = table.astype(np.float32)

    def empty_state(self, batch):
        state, windows = {}, self.exported.windows()
        for value in self.proto.graph.input:
            if state_output(value.name) is None:
                continue
            shape = []
            for axis, dim in enumerate(value.type.tensor_type.shape.dim):
                size = dim.dim_value
                if dim.dim_param:
                    rows = windows.get(value.name, 0)
                    size = {0: batch, 2: rows, 3: self.head_size}[axis]
                shape.append(size)
            dtype = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
            state[value.name] = np.zeros(shape, dtype)
        return state

    def add(self, file, call, unspecified=None):
        feeds, outputs = call
        rows, known = feeds.get("input_ids", feeds.get("inputs_embeds")).shape[1], {}
        if "+" in self.mask_symbol():
            known = {"past_seq_len": feeds["attention_mask"].shape[1] - rows, "seq_len": rows}
        self.recorder.add(file, feeds, outputs, unspecified=unspecified, known=known)

    def mask_symbol(self):
        for value in self.proto.graph.input:
            if value.name == "attention_mask":
                return value.type.tensor_type.shape.dim[1].dim_param
        return ""

    def write(self, *, prompt=7, window=False, in_place=False, vocabulary=320, ragged=True):
        """A prompt, two decode steps, a chunk of three tokens, and a ragged batch of two.

        The ragged batch must give what each sequence gives alone. window: the padding rows of a
        ragged first prompt do not count, since onnxruntime leaves them undefined, or takes the
        lowest number in a float mask for -inf. ragged=False: the export or onnxruntime takes one
        sequence only.
        """
        rng = random_numbers(self.script)
        ids = rng.integers(4, vocabulary, (1, prompt + 3))
        alone = Sequence(self, 1)
        steps = [alone.step(ids[:, :prompt]), alone.step(ids[:, prompt : prompt + 1]),
                 alone.step(ids[:, prompt + 1 : prompt + 2])]
        for index, call in enumerate(steps):
            self.add("io.npz" if index == 0 else f"io_step{index}.npz", call)
        chunked = Sequence(self, 1)
        chunked.step(ids[:, :prompt])
        self.add("io_chunk.npz", chunked.step(ids[:, prompt:]))
        if ragged:
            batch = self.add_ragged(rng, ids, prompt, steps, window, vocabulary)
        if in_place:
            self.recorder.in_place = {name: state_output(name) for name in batch.state}
        expected = ONNXRUNTIME + (", run in f32" if self.exported.widened else "")
        self.recorder.finish(expected, self.exported.tolerance, self.exported.exact)

    def add_ragged(self, rng, ids, prompt, steps, window, vocabulary):
        short = prompt - 3
        other = rng.integers(4, vocabulary, (1, short + 1))
        single = Sequence(self, 1)
        others = [single.step(other[:, :short]), single.step(other[:, short:])]
        padded = np.full((2, prompt), PAD)
        padded[0] = ids[0, :prompt]
        left = self.style == "attention"
        place = slice(prompt - short, prompt) if left else slice(0, short)
        padded[1, place] = other[0, :short]
        batch = Sequence(self, 2)
        first = batch.step(padded, [prompt, short])
        second = batch.step(np.stack([ids[0, prompt : prompt + 1], other[0, short:]]))
        self.compare(first[1]["logits"][0], steps[0][1]["logits"][0])
        self.compare(first[1]["logits"][1, place], others[0][1]["logits"][0])
        self.compare(second[1]["logits"][0], steps[1][1]["logits"][0])
        self.compare(second[1]["logits"][1], others[1][1]["logits"][0])
        hidden = slice(0, prompt - short) if left else slice(short, prompt)
        self.add("io_ragged.npz", first, self.padding(first[1], hidden) if window else None)
        self.add("io_ragged_step1.npz", second)
        return batch

    def compare(self, got, want):
        tolerance = self.exported.tolerance
        got, want = got.astype(np.float32), want.astype(np.float32)
        if not np.allclose(got, want, rtol=tolerance, atol=tolerance):
            raise SystemExit(f"ragged and single runs differ by {np.abs(got - want).max():.1e}")

    def padding(self, outputs, hidden):
        """Logits of padding rows, and what layers after the first cached for them."""
        masks = {}
        for name, array in outputs.items():
            if name == "logits":
                mask = np.zeros(array.shape[:2] + (1,), bool)
                mask[1, hidden] = True
            elif ".0." in name:
                continue
            else:
                mask = np.zeros((array.shape[0], 1, array.shape[2], 1), bool)
                mask[1, :, hidden] = True
            masks[name] = mask
        return masks
