"""The rows of text generation: `reprise generate` beside llama.cpp, with the same model file."""

import json
import os

import numpy as np

PROMPT_TOKENS = 512
NEW_TOKENS = 96
PROMPT = "The capital of France is"
# One token a word in the vocabularies of the Llama family that we know; what it is in fact, `reprise generate` says.
LONG_PROMPT = "the" + " the" * (PROMPT_TOKENS - 1)


def _ours(ours, options, prompt, new):
    path = options.work / "prompt.txt"
    path.write_text(prompt)
    return json.loads(ours.call("generate", options.model, "--prompt-file", path, "--max-tokens", new, "--ignore-end",
                                "--json", "--backend", options.backend, "--threads", options.threads))


def _entry(rates):
    """Tokens a second, as milliseconds a token, so that ratios mean what they mean in the other rows."""
    times = [1000 / rate for rate in rates]
    lower, median, upper = (float(x) for x in np.percentile(times, [25, 50, 75]))
    return {"median": median, "lower": lower, "upper": upper, "least": min(times), "rounds": times, "per_token": True}


def _measure_ours(options, ours, log):
    long = _ours(ours, options, LONG_PROMPT, 1)
    if long["prompt_tokens"] != PROMPT_TOKENS:
        log(f"the long prompt has {long['prompt_tokens']} tokens with this model, llama.cpp gets {PROMPT_TOKENS}")
    short = _ours(ours, options, PROMPT, NEW_TOKENS + 1)
    return long["prefill_tokens_per_second"], short["decode_tokens_per_second"], short["text"]


def _measure_peer(peer):
    """The ids do not matter for the time that a prompt takes."""
    answers = [peer.ask(prefill=list(range(100, 100 + PROMPT_TOKENS))), peer.ask(prompt=PROMPT, decode=NEW_TOKENS)]
    for answer in answers:
        if "error" in answer:
            raise RuntimeError(answer["error"])
    return PROMPT_TOKENS / answers[0]["seconds"], NEW_TOKENS / answers[1]["seconds"], answers[1]["text"]


def rows(options, peer, ours, log):
    """`peer` is the process of llama_peer.py. One row for the prompt, one for the tokens after it."""
    turns = {"Reprise": lambda: _measure_ours(options, ours, log), "llama.cpp": lambda: _measure_peer(peer)}
    seen = {name: [] for name in turns}
    errors = {}
    for turn in range(options.rounds + 1):
        for name in list(turns) if turn % 2 else reversed(turns):
            if name in errors:
                continue
            try:
                figures = turns[name]()
            except Exception as e:  # the other side goes on
                errors[name] = str(e)
                continue
            if turn > 0:  # the first is to warm up
                seen[name].append(figures)
    texts = [figures[0][2] for figures in seen.values() if figures]
    alike = len(os.path.commonprefix(texts)) if len(texts) == 2 else 0
    model = options.model.stem.split(".")[0].removesuffix("-Instruct")
    out = []
    for k, name in enumerate([f"prefill {PROMPT_TOKENS} tokens", f"decode {NEW_TOKENS} tokens"]):
        entries = {who: {"error": errors[who]} if who in errors else _entry([f[k] for f in figures])
                   for who, figures in seen.items()}
        row = {"name": f"{model}: {name}", "goal": 1.0, "kind": "generation", "tolerance": 0.0,
               "ours": entries["Reprise"], "peers": {"llama.cpp": entries["llama.cpp"]}, "same_characters": alike}
        if not errors:
            a, b = entries["Reprise"], entries["llama.cpp"]
            row |= {"best": "llama.cpp", "ratio": a[options.statistic] / b[options.statistic],
                    "ratios": [x / y for x, y in zip(a["rounds"], b["rounds"])]}
        out.append(row)
    log(f"generated texts: the first {alike} characters are the same")
    return out
