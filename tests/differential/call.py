"""One random call: a model of one node (or few), its inputs and what must come out."""

from dataclasses import dataclass, field
from typing import Optional

import ml_dtypes
import numpy as np
from onnx import TensorProto, helper

from test_cases.lib.npz import write_npz
from tests.reference.onnx_model import Value, initializer, model, node

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
# Largest error, relative to 1 + |expected|.
TOLERANCE = {
    np.dtype(np.float64): 2e-5, np.dtype(np.float32): 2e-5, np.dtype(np.float16): 2e-3,
    BFLOAT16: 1.6e-2,
}


def chance(rng, probability):
    return rng.random() < probability


def pick(rng, *choices):
    return choices[int(rng.integers(len(choices)))]


def between(rng, low, high):
    """Both included."""
    return int(rng.integers(low, high + 1))


def normal(rng, shape, dtype):
    return rng.standard_normal(shape).astype(dtype)


def element_type(rng):
    return np.dtype(pick(rng, np.float32, np.float32, np.float32, np.float16, BFLOAT16))


def masked(rng, shape, dtype, hide=0.2):
    """A bias: some elements hide their key, some are very low and do not, seldom a whole row hides."""
    bias = rng.standard_normal(shape)
    bias[rng.random(shape) < hide * pick(rng, 0, 1, 1)] = -np.inf
    if chance(rng, 0.2):
        bias[rng.random(shape) < 0.3] = float(ml_dtypes.finfo(dtype).min)
    if bias.size and chance(rng, 0.2):
        bias[tuple(between(rng, 0, n - 1) for n in shape[:-1])] = -np.inf
    with np.errstate(over="ignore"):
        return bias.astype(dtype)


@dataclass
class Call:
    """What a generator gives.

    dims: for every input the names of its symbolic axes (None: a number).
    outputs: type and expected values by name, in the node's order; None where one is left out.
    masks: elements of an output that count; all where there is none.
    constants: inputs that become initializers.
    """

    operator: str
    domain: str
    opset: int
    slots: list
    feeds: dict
    dims: dict
    attributes: dict
    outputs: dict
    masks: dict = field(default_factory=dict)
    constants: set = field(default_factory=set)
    in_place: bool = False
    tolerance: Optional[float] = None

    def label(self):
        shapes = " ".join(f"{n}{list(a.shape)}:{a.dtype}" for n, a in self.feeds.items())
        place = " in place" if self.in_place else ""
        return f"{self.operator} {self.opset} {self.attributes} {shapes} -> {list(self.outputs)}{place}"

    def node(self):
        return node(
            self.operator,
            [name if name in self.feeds else None for name in self.slots],
            [name if found is not None else None for name, found in self.outputs.items()],
            "node",
            self.domain,
            **self.attributes,
        )

    def proto(self, rng):
        nodes, inputs, constants, statics = [self.node()], [], {}, {}
        own_names = chance(rng, 0.4)
        for name, array in self.feeds.items():
            if name in self.constants:
                constants[name] = array
                continue
            dims = list(array.shape)
            for axis, symbol in enumerate(self.dims.get(name, ())):
                if symbol is None:
                    continue
                symbol = f"{name}_{axis}" if own_names else symbol
                if statics.setdefault(symbol, dims[axis]) == dims[axis]:
                    dims[axis] = symbol
            inputs.append(Value(name, array.dtype, dims))
        for name in ("cos_cache", "sin_cache"):
            if name in constants:
                nodes[:0] = made_constant(rng, name, constants)
        proto = model(
            nodes, inputs,
            [Value(name, found[0]) for name, found in self.outputs.items() if found is not None],
            initializers=constants,
            opsets={"": self.opset} | ({self.domain: 1} if self.domain else {}),
        )
        return proto, statics

    def write(self, directory, rng):
        directory.mkdir(parents=True)
        proto, statics = self.proto(rng)
        (directory / "model.onnx").write_bytes(proto.SerializeToString(deterministic=True))
        arrays = {f"in:{n}": a for n, a in self.feeds.items() if n not in self.constants}
        tolerance = self.tolerance or 0
        for name, found in self.outputs.items():
            if found is None:
                continue
            dtype, values = np.dtype(found[0]), found[1]
            with np.errstate(over="ignore"):
                arrays[f"out:{name}"] = np.asarray(values).astype(dtype)
            tolerance = max(tolerance, TOLERANCE.get(dtype, 0))
            if name in self.masks:
                arrays[f"cmp:{name}"] = np.broadcast_to(self.masks[name], np.shape(values))
        write_npz(directory / "io.npz", arrays)
        lines = [f"tolerance: {tolerance:g} {tolerance:g}", f"expected: {self.label()}"]
        if statics:
            lines.append("static: " + " ".join(f"{n}={size}" for n, size in statics.items()))
        if self.in_place:
            lines.append("state-in-place: yes")
        (directory / "case.txt").write_text("\n".join(lines) + "\n")


def made_constant(rng, name, constants):
    """Sometimes a constant is computed, or chosen by an If, as exporters do with rotary caches."""
    way = rng.random()
    array = constants[name]
    if way < 0.6:
        return []
    del constants[name]
    if way < 0.8:
        constants[name + "_raw"] = array
        constants[name + "_axes"] = np.array([0], np.int64)
        return [
            node("Unsqueeze", [name + "_raw", name + "_axes"], [name + "_3d"], name + "_unsqueeze"),
            node("Squeeze", [name + "_3d", name + "_axes"], [name], name + "_squeeze"),
        ]
    constants[name + "_condition"] = np.array(True)
    branches = []
    for suffix, content in (("then", array), ("else", np.zeros_like(array)[:1])):
        output = helper.make_tensor_value_info(
            f"{name}_{suffix}", helper.np_dtype_to_tensor_dtype(array.dtype), content.shape)
        value = helper.make_node("Constant", [], [f"{name}_{suffix}"],
                                 value=initializer("value", content))
        branches.append(helper.make_graph([value], suffix, [], [output]))
    return [helper.make_node("If", [name + "_condition"], [name], name=name + "_choice",
                             then_branch=branches[0], else_branch=branches[1])]


__all__ = ["BFLOAT16", "Call", "TOLERANCE", "TensorProto", "between", "chance", "element_type",
           "masked", "normal", "pick"]
