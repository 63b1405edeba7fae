"""npz files with the same bytes on every run."""

import io
import zipfile

import numpy as np

from tests.reference.onnx_model import BFLOAT16

EARLIEST = (1980, 1, 1, 0, 0, 0)


def write_npz(path, arrays, compressed=False):
    """Writes `arrays` by name, in order, with a fixed time stamp. bf16 becomes two raw bytes."""
    method = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            array = np.asarray(array)
            if array.dtype == BFLOAT16:
                array = array.view("V2")
            content = io.BytesIO()
            np.lib.format.write_array(content, array.copy(order="C"), allow_pickle=False)
            entry = zipfile.ZipInfo(name + ".npy", EARLIEST)
            entry.compress_type = method
            archive.writestr(entry, content.getvalue())
