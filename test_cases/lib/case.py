"""Writing one case directory: model.onnx, io.npz and case.txt."""

import re
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnx
from onnx import helper

from tests.reference.onnx_model import BFLOAT16, run_onnxruntime

from .npz import write_npz

ONNXRUNTIME = "onnxruntime 1.32.0 CPU"

# (absolute, relative) by the type of the outputs
TOLERANCES = {
    np.dtype(np.float32): (1e-5, 1e-5),
    np.dtype(np.float16): (4e-3, 4e-3),
    BFLOAT16: (3e-2, 3e-2),
}


def case_name(script):
    return Path(script).resolve().parent.name


def random_numbers(script):
    """A generator that depends on the case's name only."""
    return np.random.default_rng(zlib.crc32(case_name(script).encode()))


class Run(NamedTuple):
    """One call of the model. `expected` comes from the reference, by output name."""

    feeds: dict
    expected: dict


def write_case(
    script,
    proto,
    runs,
    *,
    reference_only="",
    undefined=None,
    unspecified=None,
    in_place=None,
    tolerance=None,
    skip=(),
    try_onnxruntime=True,
):
    """Writes the directory of `script`.

    Expected values are onnxruntime's, which must agree with the reference, unless `reference_only`
    says why onnxruntime is not used; then it must refuse the model or differ from the reference.
    undefined: bool masks by output of elements that onnxruntime leaves undefined and the rules
        define: taken from the reference.
    unspecified: bool masks by output of elements that the rules do not define: they do not count.
    in_place: graph inputs by name, with the output that shares the input's buffer.
    try_onnxruntime=False: not even tried (it reads out of bounds, or dies).
    """
    if isinstance(runs, Run):
        runs = [runs]
    directory = Path(script).resolve().parent
    check_model(proto)
    types = output_types(proto)
    lines = [f"tolerance: {tolerance_text(tolerance or default_tolerance(types))}"]
    origin = ONNXRUNTIME
    if undefined:
        origin += "; numpy reference where it leaves an element undefined"
    if reference_only:
        origin = f"numpy reference ({reference_only})"
    lines.append(f"expected: {origin}")
    lines += [f"skip: {text}" for text in skip]
    if in_place:
        lines.append("state-in-place: yes")

    for index, run in enumerate(runs):
        wanted = {name: convert(run.expected[name], types[name]) for name in types}
        theirs = None
        if try_onnxruntime:
            theirs = ask_onnxruntime(proto, run.feeds, in_place, bool(reference_only))
        if not reference_only:
            wanted = agreed(theirs, wanted, undefined or {}, unspecified or {}, types)
        elif theirs is not None and agrees(theirs, wanted, unspecified or {}):
            raise SystemExit(f"{directory.name}: onnxruntime is right here, use its values")
        arrays = {f"in:{name}": array for name, array in run.feeds.items()}
        arrays |= {f"out:{name}": array for name, array in wanted.items()}
        for name, mask in (unspecified or {}).items():
            arrays[f"cmp:{name}"] = ~np.broadcast_to(mask, wanted[name].shape)
        file = "io.npz" if index == 0 else f"io_step{index}.npz"
        write_npz(directory / file, arrays)
        static = static_line(proto, run.feeds, wanted)
        if static:
            lines.append(f"static: {static}" if index == 0 else f"static {file}: {static}")

    (directory / "model.onnx").write_bytes(proto.SerializeToString(deterministic=True))
    (directory / "case.txt").write_text("\n".join(lines) + "\n")


def write_refusal(script, model, refuse, *, feeds=None, files=None):
    """A case that must be refused with a message that holds every text of `refuse`.

    Without `feeds` loading must already fail. `model` is a ModelProto or bytes; `files` are further
    files of the directory, by name.
    """
    directory = Path(script).resolve().parent
    data = model if isinstance(model, bytes) else model.SerializeToString(deterministic=True)
    (directory / "model.onnx").write_bytes(data)
    for name, content in (files or {}).items():
        (directory / name).write_bytes(content)
    lines = [f"refuse: {text}" for text in refuse]
    if feeds is None:
        lines.append("load-only: yes")
    else:
        write_npz(directory / "io.npz", {f"in:{name}": array for name, array in feeds.items()})
        if not isinstance(model, bytes):
            static = static_line(model, feeds, {}, strict=False)
            if static:
                lines.append(f"static: {static}")
    (directory / "case.txt").write_text("\n".join(lines) + "\n")


def check_model(proto):
    """onnx.checker, where every operator of the default domain has a schema."""
    standard = [node for node in proto.graph.node if node.domain in ("", "ai.onnx")]
    if any(not onnx.defs.has(node.op_type) for node in standard):
        return
    onnx.checker.check_model(proto)


def output_types(proto):
    return {
        value.name: np.dtype(helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type))
        for value in proto.graph.output
    }


def default_tolerance(types):
    pairs = [TOLERANCES[dtype] for dtype in types.values() if dtype in TOLERANCES]
    return max(pairs)


def tolerance_text(pair):
    return " ".join(f"{number:g}" for number in pair)


def convert(array, dtype):
    with np.errstate(over="ignore"):
        return np.asarray(array).astype(dtype)


def ask_onnxruntime(proto, feeds, in_place, may_refuse):
    try:
        return run_onnxruntime(proto, feeds, in_place)
    except Exception as error:
        if may_refuse:
            return None
        raise SystemExit(f"onnxruntime refuses: {error}") from error


def agrees(theirs, wanted, ignored):
    return not any(mismatch(theirs[name], wanted[name], ignored.get(name)) for name in wanted)


def mismatch(got, want, ignored=None):
    """A sentence, or an empty string if `got` is close to `want`."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype}{got.shape} is not {want.dtype}{want.shape}"
    absolute, relative = TOLERANCES.get(want.dtype, (0, 0))
    got, want = got.astype(np.float64), want.astype(np.float64)
    with np.errstate(invalid="ignore"):
        close = np.isfinite(want) & (np.abs(got - want) <= absolute + relative * np.abs(want))
    close |= (got == want) | (np.isnan(got) & np.isnan(want))
    if ignored is not None:
        close |= np.broadcast_to(ignored, close.shape)
    if close.all():
        return ""
    return f"{np.count_nonzero(~close)} of {close.size} elements differ"


def agreed(theirs, wanted, undefined, unspecified, types):
    """onnxruntime's values, checked against the reference."""
    result = {}
    for name in types:
        own = np.zeros(wanted[name].shape, bool)
        own |= undefined.get(name, False)
        own |= unspecified.get(name, False)
        fault = mismatch(theirs[name], wanted[name], own)
        if fault:
            raise SystemExit(f"onnxruntime and the reference disagree on {name}: {fault}")
        result[name] = np.where(own, wanted[name], theirs[name]).astype(types[name])
    return result


def static_line(proto, feeds, results, strict=True, known=None):
    """`NAME=N ...` for every symbol in the shapes of the graph's inputs and outputs.

    A dim may be a sum of symbols, `past + sequence`; `known` gives symbols that only occur in sums.
    Not strict: where two arrays disagree about a symbol, the first one counts.
    """
    dims = []
    for value in list(proto.graph.input) + list(proto.graph.output):
        array = feeds.get(value.name, results.get(value.name))
        if array is not None and value.type.tensor_type.HasField("shape"):
            dims += zip([dim.dim_param for dim in value.type.tensor_type.shape.dim], array.shape)
    values = {}
    for symbol, size in dims:
        if re.fullmatch(r"\w+", symbol):
            if values.setdefault(symbol, size) != size and strict:
                raise SystemExit(f"{symbol} is {values[symbol]} and {size}")
    values |= known or {}
    for expression, size in dims:
        if "+" in expression:
            parts = [part.strip() for part in expression.split("+")]
            total = sum(int(part) if part.isdigit() else values[part] for part in parts)
            if total != size and strict:
                raise SystemExit(f"{expression} is {total} and {size}")
    return " ".join(f"{name}={size}" for name, size in values.items())
