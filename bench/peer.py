"""One peer in a process of its own, driven by table.py: a JSON request a line on standard input, one answer a line.

    {"row": "softmax 1024x1024", "seconds": 0.3, "answer": "/tmp/x.npy"}
    -> {"median": ..., "lower": ..., "upper": ..., "least": ..., "runs": ...}     milliseconds
    -> {"absent": "why this peer has no such row"} or {"error": "..."}
"""

import argparse
import importlib
import json
import os
import sys
import time

import numpy as np

from rows import ROWS, make_inputs

# A sample is at least this long; what is faster runs several times a sample.
SHORTEST_SAMPLE = 50e-6


def summary(samples):
    """Of seconds, in milliseconds."""
    lower, median, upper = (1e3 * x for x in np.percentile(samples, [25, 50, 75]))
    return {"median": median, "lower": lower, "upper": upper, "least": 1e3 * min(samples)}


def replay(function, seconds):
    """The same way of measuring as `reprise bench`: a tenth of the time to warm up, then samples."""
    clock = time.perf_counter
    begin = clock()
    while True:
        start = clock()
        function()
        last = clock() - start
        if clock() - begin >= seconds / 10:
            break
    each = max(1, int(SHORTEST_SAMPLE / max(last, 1e-9)))
    samples = []
    begin = clock()
    while len(samples) < 3 or clock() - begin < seconds:
        start = clock()
        for _ in range(each):
            function()
        samples.append((clock() - start) / each)
    return summary(samples) | {"runs": each * len(samples)}


def compiling(function, seconds):
    """`function` compiles afresh and returns the seconds that it took."""
    begin = time.perf_counter()
    samples = [function()]
    while len(samples) < 5 and time.perf_counter() - begin < seconds:
        samples.append(function())
    return summary(samples) | {"runs": len(samples)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("peer")
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    options = parser.parse_args()
    # Libraries print; the answers have a channel of their own.
    channel = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)

    module = importlib.import_module(f"peers.{options.peer}_peer")
    peer = module.Peer(make_inputs(options.seed), options.threads)
    rows = {row.name: row for row in ROWS}
    ready = {}
    print(json.dumps({"version": peer.version}), file=channel)
    for line in sys.stdin:
        request = json.loads(line)
        row = rows[request["row"]]
        try:
            if row.name not in ready:
                make = getattr(peer, f"{row.program}_{row.kind}" if row.kind == "compile" else row.program, None)
                ready[row.name] = make(row) if make else None
            function = ready[row.name]
            if function is None:
                answer = {"absent": True}
            elif row.kind == "compile":
                answer = compiling(function, request["seconds"])
            else:
                if request.get("answer"):
                    np.save(request["answer"], peer.to_numpy(function()))
                answer = replay(function, request["seconds"])
        except Exception as e:  # a peer that fails at a row goes on with the others
            answer = {"error": f"{type(e).__name__}: {e}"[:300]}
        print(json.dumps(answer), file=channel)


if __name__ == "__main__":
    main()
