"""ONNX Runtime, with graphs made here."""

import numpy as np
import onnxruntime
from onnx import TensorProto, helper

from rows import TURNS

OPSET = 21


class Peer:
    def __init__(self, inputs, threads):
        self.version = f"onnxruntime {onnxruntime.__version__}"
        self.x = inputs
        self.threads = threads

    @staticmethod
    def to_numpy(answer):
        return answer.numpy()

    def _run(self, nodes, names, **constants):
        """`nodes` name their inputs after arrays and constants, and the result y."""
        graph = helper.make_graph(
            nodes, "row",
            [helper.make_tensor_value_info(n, TensorProto.FLOAT, list(self.x[n].shape)) for n in names],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
            [helper.make_tensor(n, TensorProto.FLOAT, np.shape(v), np.ravel(v)) for n, v in constants.items()])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self.threads
        options.inter_op_num_threads = 1
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        feed = {n: onnxruntime.OrtValue.ortvalue_from_numpy(self.x[n]) for n in names}
        # The answer stays with ONNX Runtime, as the other peers' do.
        return lambda: session.run_with_ort_values(["y"], feed)[0]

    def gemm_f32(self, row):
        return self._run([helper.make_node("MatMul", ["a", "b"], ["y"])], ["a", "b"])

    def gemv_f32(self, row):
        return self._run([helper.make_node("MatMul", ["row", "b"], ["y"])], ["row", "b"])

    def chain10(self, row):
        nodes, x = [], "a"
        for i in range(10):
            nodes += [helper.make_node("Mul", [x, "b"], [f"m{i}"]), helper.make_node("Add", [f"m{i}", "b"], [f"s{i}"]),
                      helper.make_node("Tanh", [f"s{i}"], ["y" if i == 9 else f"t{i}"])]
            x = f"t{i}"
        return self._run(nodes, ["a", "b"])

    def small600(self, row):
        nodes, x = [], "small_x"
        for i in range(TURNS["small600"]):
            y = "y" if i == TURNS["small600"] - 1 else f"t{i}"
            nodes += [helper.make_node("MatMul", [x, "small_w"], [f"m{i}"]), helper.make_node("Tanh", [f"m{i}"], [y])]
            x = y
        return self._run(nodes, ["small_x", "small_w"])

    def softmax(self, row):
        return self._run([helper.make_node("Softmax", ["a"], ["y"], axis=-1)], ["a"])

    def layer_norm(self, row):
        node = helper.make_node("LayerNormalization", ["a", "weight", "weight"], ["y"], axis=-1, epsilon=1e-5)
        return self._run([node], ["a", "weight"])

    def one(self, row):
        return self._run([helper.make_node("Add", ["one", "c"], ["y"])], ["one"], c=np.float32(1))
