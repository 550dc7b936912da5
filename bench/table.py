"""Times the rows of rows.py with Reprise and its peers, in turns, and says who is faster by how much. See README.md."""

import argparse
import json
import os
import platform
import re
import select
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import generation
import report
from rows import ROWS, make_inputs, program_text, to_bf16_bits

HERE = Path(__file__).resolve().parent
PEERS = ["mlx", "jax", "torch", "onnxruntime"]


def log(text):
    print(text, file=sys.stderr, flush=True)


def clean_environment(work):
    """What would tie the hands of one peer only is left out; caches of compiled kernels start empty."""
    tied = ("OMP_", "GOMP_", "KMP_", "OPENBLAS_", "MKL_", "GOTO_", "XLA_", "JAX_", "MLX_", "REPRISE_")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(tied)}
    for name in "TMPDIR", "TORCHINDUCTOR_CACHE_DIR":
        folder = work / name.lower()
        folder.mkdir(exist_ok=True)
        environment[name] = str(folder)
    return environment


class Dead(Exception):
    pass


class PeerProcess:
    """A process that answers one JSON line with another. One that does not answer in time is ended, and started afresh
    for the next row."""

    def __init__(self, name, command, options, environment):
        self.name, self.command, self.options, self.environment = name, command, options, environment
        self.process = None
        self.version = None

    def start(self):
        with (self.options.work / f"{self.name}.log").open("ab") as errors:
            self.process = subprocess.Popen([sys.executable, *map(str, self.command)], stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=errors, env=self.environment, cwd=HERE)
        self.version = self.read()["version"]

    def read(self):
        if not select.select([self.process.stdout], [], [], self.options.limit)[0]:
            self.stop()
            raise Dead(f"no answer in {self.options.limit} s")
        line = self.process.stdout.readline()
        if not line:
            self.stop()
            raise Dead(f"ended early; see {self.options.work}/{self.name}.log (kept with --work)")
        return json.loads(line)

    def ask(self, **request):
        try:
            if self.process is None:
                self.start()
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            self.process.stdin.flush()
            return self.read()
        except (Dead, BrokenPipeError) as e:
            self.stop()
            return {"error": str(e)}

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


class Ours:
    def __init__(self, options, environment):
        self.options, self.environment = options, environment
        self.inputs = make_inputs(options.seed)
        self.version = f"Reprise {self.call('--version').strip()}"

    def call(self, *words):
        done = subprocess.run([str(self.options.reprise), *map(str, words)], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, env=self.environment, timeout=self.options.limit)
        if done.returncode != 0:
            raise Dead(done.stderr.strip()[-300:] or f"exit code {done.returncode}")
        return done.stdout

    def prepare(self, row):
        """Writes the program and its inputs, so that anyone can run it again."""
        program = self.options.work / f"{row.program}.rp"
        program.write_text(program_text(row.program))
        if row.captures:
            from safetensors.numpy import save_file
            save_file({key: self.inputs[name] for key, name in row.captures}, program.with_suffix(".safetensors"))
        words = []
        for name in row.inputs:
            path = self.options.work / f"{name}{'_bf16' if row.bf16 else ''}.npy"
            if not path.exists():
                np.save(path, to_bf16_bits(self.inputs[name]) if row.bf16 else self.inputs[name])
            words.append(path)
        target = ["--backend", self.options.backend, "--threads", self.options.threads]
        return [program, *(["--input", *words] if words else []), *target]

    def answer(self, row):
        out = self.options.work / "ours.npz"
        self.call("run", *self.prepare(row), "--output", out)
        with np.load(out) as outputs:
            return outputs["out0"]

    def time(self, row, seconds):
        seen = json.loads(self.call("bench", *self.prepare(row), "--time", seconds, "--json"))
        if row.kind == "compile":
            first = seen["compile_first_ms"]
            return {"median": first, "lower": first, "upper": first, "least": first, "runs": 1}
        return {"median": seen["median_ms"], "lower": seen["lower_quartile_ms"], "upper": seen["upper_quartile_ms"],
                "least": seen["least_ms"], "runs": seen["runs"], "command": seen["command"]}


def difference(row, ours, theirs):
    """Greatest difference of two elements in units of the greatest magnitude; None when shapes differ."""
    ours, theirs = np.squeeze(ours), np.squeeze(theirs)
    if ours.shape != theirs.shape and not (ours.ndim == 1 and ours.size == theirs.size):  # ours may be flattened
        return None
    theirs = theirs.reshape(ours.shape)
    kind = np.complex128 if np.iscomplexobj(ours) else np.float64
    ours, theirs = ours.astype(kind), theirs.astype(kind)
    if row.absolute:
        ours, theirs = np.abs(ours), np.abs(theirs)
    greatest = np.max(np.abs(theirs), initial=0)
    return float(np.max(np.abs(ours - theirs), initial=0) / (greatest or 1))


def joined(rounds):
    """The median of the rounds' figures, and what the rounds said."""
    good = [r for r in rounds if "median" in r]
    if not good:
        return rounds[-1] if rounds else {"absent": True}
    out = {key: float(np.median([r[key] for r in good])) for key in ("median", "lower", "upper")}
    return out | {"least": min(r["least"] for r in good), "rounds": [r["median"] for r in good]}


def measure(row, ours, peers, options):
    """One row: all take turns, in another order each round."""
    rounds = {name: [] for name in ["ours", *(p.name for p in peers)]}
    differences = {}
    our_answer = None
    if row.kind == "replay":
        try:
            our_answer = ours.answer(row)
        except (Dead, subprocess.TimeoutExpired) as e:
            return {"name": row.name, "goal": row.goal, "ours": {"error": str(e)}, "peers": {}}
    for turn in range(options.rounds):
        order = [ours, *peers]
        order = order[turn % len(order):] + order[:turn % len(order)]
        for who in order:
            if who is ours:
                try:
                    rounds["ours"].append(ours.time(row, options.seconds))
                except (Dead, subprocess.TimeoutExpired) as e:
                    rounds["ours"].append({"error": str(e)})
                continue
            seen = rounds[who.name]
            if seen and "median" not in seen[-1]:
                continue
            path = options.work / "answer.npy"
            want_answer = turn == 0 and our_answer is not None
            path.unlink(missing_ok=True)
            seen.append(who.ask(row=row.name, seconds=options.seconds, answer=str(path) if want_answer else None))
            if want_answer and path.exists():
                differences[who.name] = difference(row, our_answer, np.load(path))
    out = {"name": row.name, "goal": row.goal, "kind": row.kind, "tolerance": row.tolerance,
           "ours": joined(rounds["ours"]), "peers": {p.name: joined(rounds[p.name]) for p in peers}}
    for name, apart in differences.items():
        out["peers"][name]["difference"] = apart
        out["peers"][name]["agrees"] = apart is not None and apart <= row.tolerance
    timed = {n: p for n, p in out["peers"].items() if "median" in p and p.get("agrees", True)}
    if timed and "median" in out["ours"]:
        best = min(timed, key=lambda n: timed[n][options.statistic])
        out["best"] = best
        out["ratio"] = out["ours"][options.statistic] / timed[best][options.statistic]
        out["ratios"] = [a / b for a, b in zip(out["ours"]["rounds"], timed[best]["rounds"])]
    return out


def machine():
    model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    return {"cpu": model.group(1) if model else platform.processor(), "system": platform.platform(),
            "load": os.getloadavg()[0]}


def options_from(words):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reprise", type=Path, default=HERE.parent / "build/release/bin/reprise", help="our program")
    parser.add_argument("--backend", default="native", help="of Reprise: native or mlx")
    parser.add_argument("--threads", type=int, default=2, help="CPUs that everyone gets (default 2)")
    parser.add_argument("--rounds", type=int, default=3, help="turns that everyone has at each row (default 3)")
    parser.add_argument("--seconds", type=float, default=0.3, help="length of a turn (default 0.3)")
    parser.add_argument("--statistic", choices=["median", "least"], default="median",
                        help="what ratios are made of; least where the machine is busy with other things")
    parser.add_argument("--seed", type=int, default=0, help="of the inputs")
    parser.add_argument("--peers", default=",".join(PEERS), help=f"default: {','.join(PEERS)}")
    parser.add_argument("--only", default="", help="rows whose names match this regular expression")
    parser.add_argument("--limit", type=float, default=120, help="seconds after which an answer is not waited for")
    parser.add_argument("--model", type=Path, help="a GGUF file: adds rows of text generation beside llama.cpp")
    parser.add_argument("--out", type=Path, default=HERE.parent / "build/table",
                        help="writes OUT.json, OUT.md and OUT.svg (default build/table)")
    parser.add_argument("--work", type=Path, help="keep programs, inputs and logs in this folder")
    options = parser.parse_args(words)
    available = os.sched_getaffinity(0)
    if not 1 <= options.threads <= len(available):
        parser.error(f"--threads {options.threads}: this process has {len(available)} CPUs")
    if options.rounds < 1 or not options.seconds > 0:
        parser.error("--rounds and --seconds must be positive")
    if not options.reprise.is_file():
        parser.error(f"--reprise {options.reprise}: no such file; build it, or name another")
    try:
        re.compile(options.only)
    except re.error as e:
        parser.error(f"--only '{options.only}': {e}")
    options.peers = [p for p in options.peers.split(",") if p]
    if unknown := set(options.peers) - set(PEERS):
        parser.error(f"--peers: unknown {', '.join(sorted(unknown))}; there are {', '.join(PEERS)}")
    if not options.model and not any(re.search(options.only, row.name) for row in ROWS):
        parser.error(f"--only '{options.only}': no row has such a name")
    if options.model and not options.model.is_file():
        parser.error(f"--model {options.model}: no such file")
    options.reprise = options.reprise.resolve()
    options.model = options.model and options.model.resolve()  # peers run in another folder
    os.sched_setaffinity(0, sorted(available)[:options.threads])
    return options


def main(words=None):
    options = options_from(words)
    temporary = None if options.work else tempfile.mkdtemp(prefix="reprise-table-")
    options.work = (options.work or Path(temporary)).resolve()
    options.work.mkdir(parents=True, exist_ok=True)
    environment = clean_environment(options.work)
    ours = Ours(options, environment)
    peers = [PeerProcess(name, [HERE / "peer.py", name, "--threads", options.threads, "--seed", options.seed], options,
                         environment) for name in options.peers]
    table = {"machine": machine(), "threads": options.threads, "backend": options.backend, "seed": options.seed,
             "statistic": options.statistic,
             "rounds": options.rounds, "seconds": options.seconds, "versions": {}, "rows": []}
    try:
        for row in ROWS:
            if not re.search(options.only, row.name):
                continue
            table["rows"].append(measure(row, ours, peers, options))
            log(report.line(table["rows"][-1], options.statistic))
            table["versions"] = {"ours": ours.version} | {p.name: p.version for p in peers}
            report.write(table, options.out)
        if options.model:
            llama = PeerProcess("llama.cpp", [HERE / "peers/llama_peer.py", options.model, options.threads], options,
                                environment)
            peers.append(llama)
            for row in generation.rows(options, llama, ours, log):
                table["rows"].append(row)
                log(report.line(row, options.statistic))
            table["versions"]["llama.cpp"] = llama.version
            report.write(table, options.out)
    finally:
        for peer in peers:
            peer.stop()
        if temporary:
            shutil.rmtree(temporary, ignore_errors=True)
    print(report.markdown(table))


if __name__ == "__main__":
    main()
