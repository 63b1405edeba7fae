"""Whole-model cases: several calls of one model, with onnxruntime's outputs."""

from pathlib import Path

import numpy as np

from tests.reference.onnx_model import run_onnxruntime

from .case import ONNXRUNTIME, check_model, static_line, tolerance_text
from .npz import write_npz


class Recorder:
    """Collects the calls of a case. The model is `proto`, or the committed model.onnx if None.

    in_place: graph inputs by name, with the output that shares the input's buffer.
    """

    def __init__(self, script, proto, in_place=None):
        self.directory = Path(script).resolve().parent
        self.proto, self.in_place, self.lines = proto, in_place, []

    def save_model(self):
        check_model(self.proto)
        data = self.proto.SerializeToString(deterministic=True)
        (self.directory / "model.onnx").write_bytes(data)

    def compute(self, feeds):
        return run_onnxruntime(self.proto, feeds, self.in_place)

    def run(self, file, feeds, strict=True, same_as=None):
        """Calls the model and records it; returns the outputs.

        same_as: another model that must give the same outputs.
        """
        outputs = self.compute(feeds)
        if same_as is not None:
            for name, array in run_onnxruntime(same_as, feeds).items():
                if not np.allclose(outputs[name], array, rtol=1e-4, atol=1e-4):
                    raise SystemExit(f"{name} differs from the model of the same meaning")
        self.add(file, feeds, outputs, strict=strict)
        return outputs

    def add(self, file, feeds, outputs, *, unspecified=None, known=None, strict=True):
        """unspecified: bool masks by output of elements that do not count."""
        arrays = {f"in:{name}": array for name, array in feeds.items()}
        arrays |= {f"out:{name}": array for name, array in outputs.items()}
        for name, mask in (unspecified or {}).items():
            arrays[f"cmp:{name}"] = ~np.broadcast_to(mask, outputs[name].shape)
        write_npz(self.directory / file, arrays, compressed=True)
        static = static_line(self.proto, feeds, outputs, strict, known)
        if static:
            key = "static" if file == "io.npz" else f"static {file}"
            self.lines.append(f"{key}: {static}")

    def finish(self, expected=ONNXRUNTIME, tolerance=1e-4, exact=False):
        lines = [f"tolerance: {tolerance_text((tolerance, tolerance))}", f"expected: {expected}"]
        if exact:
            lines.append("exact: yes")
        if self.in_place:
            lines.append("state-in-place: yes")
        text = "\n".join(lines + self.lines) + "\n"
        (self.directory / "case.txt").write_text(text)
