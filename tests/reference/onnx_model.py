"""Building small ONNX models, and running them with onnxruntime."""

from typing import NamedTuple, Optional, Sequence

import ml_dtypes
import numpy as np
from onnx import TensorProto, helper, numpy_helper

IR_VERSION = 10
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


class Value(NamedTuple):
    """A graph input or output. `dims` holds numbers and symbol names; None leaves the shape out."""

    name: str
    dtype: object
    dims: Optional[Sequence] = None


def value_info(value):
    element = helper.np_dtype_to_tensor_dtype(np.dtype(value.dtype))
    return helper.make_tensor_value_info(value.name, element, value.dims)


def initializer(name, array):
    array = np.asarray(array)
    if array.dtype == BFLOAT16:
        data = array.view(np.uint16).tobytes()
        return helper.make_tensor(name, TensorProto.BFLOAT16, array.shape, data, raw=True)
    return numpy_helper.from_array(array, name)


def model(nodes, inputs, outputs, *, initializers=None, opsets=None, functions=()):
    """`initializers` by name; `opsets` by domain."""
    graph = helper.make_graph(
        nodes,
        "graph",
        [value_info(value) for value in inputs],
        [value_info(value) for value in outputs],
        [initializer(name, array) for name, array in (initializers or {}).items()],
    )
    imports = [helper.make_opsetid(domain, version) for domain, version in opsets.items()]
    return helper.make_model(
        graph,
        opset_imports=imports,
        ir_version=IR_VERSION,
        producer_name="",
        functions=list(functions),
    )


def node(op_type, inputs, outputs, name, domain="", **attributes):
    """A node whose absent inputs and outputs are None; trailing ones are dropped."""
    inputs, outputs = ([n or "" for n in names] for names in (inputs, outputs))
    while inputs and not inputs[-1]:
        inputs.pop()
    while outputs and not outputs[-1]:
        outputs.pop()
    return helper.make_node(op_type, inputs, outputs, name=name, domain=domain, **attributes)


def run_onnxruntime(proto, feeds, shared=None, optimize=True):
    """Outputs by name. `shared` maps graph inputs to the outputs that share their buffer."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    if not optimize:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    source = proto if isinstance(proto, (bytes, str)) else proto.SerializeToString()
    session = onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    if not shared:
        return dict(zip(names, session.run(names, feeds)))

    binding = session.io_binding()
    buffers = {
        name: onnxruntime.OrtValue.ortvalue_from_numpy(np.array(array))
        for name, array in feeds.items()
    }
    for name, buffer in buffers.items():
        binding.bind_ortvalue_input(name, buffer)
    partner = {output: name for name, output in shared.items()}
    for name in names:
        if name in partner:
            binding.bind_ortvalue_output(name, buffers[partner[name]])
        else:
            binding.bind_output(name)
    session.run_with_iobinding(binding)
    return {name: value.numpy().copy() for name, value in zip(names, binding.get_outputs())}
