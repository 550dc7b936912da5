"""llama.cpp through llama-cpp-python: a model's prompt and its tokens after that. Driven by generation.py.

    llama_peer.py MODEL.gguf THREADS     reads one JSON request a line, answers with one

    {"prefill": [1, 2, 3]}                  -> {"seconds": 0.1}
    {"prompt": "The capital", "decode": 96} -> {"seconds": 0.8, "text": " of France ..."}    after the first token
"""

import ctypes
import json
import os
import sys
import time

import llama_cpp
import numpy as np

CONTEXT = 1024


class Model:
    def __init__(self, path, threads):
        self.silence = llama_cpp.llama_log_callback(lambda level, text, data: None)  # must outlive the model
        llama_cpp.llama_log_set(self.silence, ctypes.c_void_p(None))
        llama_cpp.llama_backend_init()
        self.model = llama_cpp.llama_model_load_from_file(path.encode(), llama_cpp.llama_model_default_params())
        if not self.model:
            raise SystemExit(f"{path}: llama.cpp cannot load it")
        params = llama_cpp.llama_context_default_params()
        params.n_ctx, params.n_batch, params.n_ubatch = CONTEXT, CONTEXT, CONTEXT // 2
        params.n_threads = params.n_threads_batch = threads
        self.context = llama_cpp.llama_init_from_model(self.model, params)
        self.vocabulary = llama_cpp.llama_model_get_vocab(self.model)
        self.size = llama_cpp.llama_vocab_n_tokens(self.vocabulary)

    def clear(self):
        llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(self.context), True)

    def feed(self, tokens):
        array = (llama_cpp.llama_token * len(tokens))(*tokens)
        status = llama_cpp.llama_decode(self.context, llama_cpp.llama_batch_get_one(array, len(tokens)))
        if status != 0:
            raise RuntimeError(f"llama_decode: {status}")
        llama_cpp.llama_synchronize(self.context)

    def best(self):
        logits = llama_cpp.llama_get_logits_ith(self.context, -1)
        return int(np.argmax(np.ctypeslib.as_array(logits, shape=(self.size,))))

    def tokens(self, text):
        data = text.encode()
        array = (llama_cpp.llama_token * (len(data) + 8))()
        count = llama_cpp.llama_tokenize(self.vocabulary, data, len(data), array, len(array), True, True)
        return list(array[:count])

    def text(self, tokens):
        out = b""
        for token in tokens:
            buffer = ctypes.create_string_buffer(256)
            count = llama_cpp.llama_token_to_piece(self.vocabulary, token, buffer, 256, 0, False)
            out += buffer.raw[:max(count, 0)]
        return out.decode(errors="replace")

    def prefill(self, tokens):
        self.clear()
        start = time.perf_counter()
        self.feed(tokens)
        return {"seconds": time.perf_counter() - start}

    def decode(self, prompt, count):
        self.clear()
        self.feed(self.tokens(prompt))
        tokens = [self.best()]
        start = time.perf_counter()
        for _ in range(count):
            self.feed(tokens[-1:])
            tokens.append(self.best())
        return {"seconds": time.perf_counter() - start, "text": self.text(tokens)}


def main():
    channel = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    model = Model(sys.argv[1], int(sys.argv[2]))
    print(json.dumps({"version": f"llama-cpp-python {llama_cpp.__version__}"}), file=channel)
    for line in sys.stdin:
        request = json.loads(line)
        if "prefill" in request:
            answer = model.prefill(request["prefill"])
        else:
            answer = model.decode(request["prompt"], request["decode"])
        print(json.dumps(answer), file=channel)


if __name__ == "__main__":
    main()
