"""Small faulty models for the refusal cases."""

import numpy as np
from onnx import TensorProto, helper

from tests.reference.onnx_model import Value, model, node

from .case import write_refusal
from .operators import Operator

__all__ = [
    "external_weight",
    "helper",
    "identity_model",
    "loosen",
    "operator_parts",
    "write_refusal",
]


def identity_model(op_type="Identity", domain="", opsets=None, **attributes):
    """x (2, 3) -> y (2, 3) through one node named "strange"."""
    call = node(op_type, ["x"], ["y"], "strange", domain, **attributes)
    return model(
        [call],
        [Value("x", np.float32, [2, 3])],
        [Value("y", np.float32, [2, 3])],
        opsets=opsets or {"": 21},
    )


def external_weight(location, *, offset=None, length=None):
    """y = x + weight, where weight (2, 3) lies in an external file."""
    proto = model(
        [node("Add", ["x", "weight"], ["y"], "add")],
        [Value("x", np.float32, [2, 3])],
        [Value("y", np.float32, [2, 3])],
        opsets={"": 21},
    )
    weight = proto.graph.initializer.add()
    weight.name, weight.data_type = "weight", TensorProto.FLOAT
    weight.dims.extend([2, 3])
    weight.data_location = TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", offset), ("length", length)):
        if value is not None:
            weight.external_data.add(key=key, value=str(value))
    return proto


def loosen(proto, name):
    """Gives graph input `name` symbols of its own: only its node can object to its shape then."""
    for value in proto.graph.input:
        if value.name != name:
            continue
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            if dim.dim_param:
                dim.dim_param = f"{name}_{axis}"


def operator_parts(op_type, feeds, output, **options):
    """(model, feeds) of one node whose input shapes are fixed. `output`: (name, type, dims)."""
    dims = {name: array.shape for name, array in feeds.items() if array is not None}
    weights = options.get("weights", ())
    proto = Operator(op_type, feeds, dims, **options).model([output])
    return proto, {name: array for name, array in feeds.items() if name not in weights}
