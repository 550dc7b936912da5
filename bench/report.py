"""The table as lines, JSON, Markdown and a picture."""

import json
import math
from html import escape


def digits(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def duration(ms):
    if ms >= 1000:
        return f"{digits(ms / 1000)} s"
    return f"{digits(ms)} ms" if ms >= 0.1 else f"{digits(1000 * ms)} us"


def cell(entry, statistic):
    """A time and its quartiles, or why there is none."""
    if "median" not in entry:
        return "failed" if "error" in entry else "-"
    if entry.get("per_token"):
        rates = [f"{digits(1000 / entry[key])}" for key in (statistic, "upper", "lower")]
        return f"{rates[0]} tok/s ({rates[1]} - {rates[2]})"
    text = duration(entry[statistic])
    if entry["lower"] != entry["upper"]:
        text += f" ({duration(entry['lower'])} - {duration(entry['upper'])})"
    return text if entry.get("agrees", True) else f"{text}, wrong"


def ratio(row):
    if "ratio" not in row:
        return "-"
    return f"{row['ratio']:.2f}" if row["ratio"] >= 0.1 else f"{row['ratio']:.2g}"


def verdict(row):
    """Whether the goal is met: yes, no, or what stood in the way."""
    if "median" not in row["ours"]:
        return "failed"
    if "ratio" not in row:
        return "no peer"
    return "met" if row["ratio"] <= row["goal"] else "missed"


def line(row, statistic):
    peers = [f"{name} {cell(entry, statistic)}" for name, entry in row["peers"].items() if not entry.get("absent")]
    ours = cell(row["ours"], statistic)
    if "error" in row["ours"]:
        ours += f": {row['ours']['error']}"
    best = f"{ratio(row)} x {row['best']}" if "best" in row else "-"
    return f"{row['name']:32}  ours {ours:30}  {best:18}  {', '.join(peers)}"


def markdown(table):
    rows = table["rows"]
    names = list(dict.fromkeys(name for row in rows for name, p in row["peers"].items() if not p.get("absent")))
    m = table["machine"]
    statistic = table["statistic"]
    out = [
        f"Measured on {m['cpu']} with {table['threads']} threads, {table['rounds']} rounds of {table['seconds']} s in "
        f"turns, seed {table['seed']}; load average {m['load']:.1f} at the start.",
        f"Each cell: the {statistic} (quartiles).",
        f"Ratio: our {statistic} time divided by that of the best peer whose answer agrees with ours; below 1 we "
        "are faster. Rounds: that ratio of medians in each round.",
        f"Versions: {'; '.join(v for v in table['versions'].values() if v)}; backend {table['backend']}.",
        "",
        f"| | Reprise | {' | '.join(names)} | ratio | rounds | goal | |",
        "|" + "---|" * (len(names) + 6),
    ]
    for row in rows:
        ours = cell(row["ours"], statistic)
        cells = " | ".join(cell(row["peers"].get(name, {}), statistic) for name in names)
        spread = f"{min(row['ratios']):.2g} - {max(row['ratios']):.2g}" if row.get("ratios") else "-"
        out.append(f"| {row['name']} | {ours} | {cells} | {ratio(row)} | {spread} | {row['goal']:g} | {verdict(row)} |")
    notes = []
    for row in rows:
        for name, entry in [("Reprise", row["ours"]), *row["peers"].items()]:
            if "error" in entry:
                notes.append(f"- {row['name']}, {name}: {entry['error']}")
            elif not entry.get("agrees", True):
                apart = entry["difference"]
                apart = "of another shape" if apart is None else f"{apart:.2g} away from ours"
                notes.append(f"- {row['name']}, {name}: the answer is {apart}; allowed {row['tolerance']:.2g}, both in "
                             "units of the greatest element")
    return "\n".join([*out, *(["", *notes] if notes else []), ""])


COLOURS = {"mlx": "#7b4ea3", "jax": "#1f77b4", "torch": "#e4572e", "onnxruntime": "#6b8e23", "llama.cpp": "#8c564b"}


def svg(table):
    """A dot for each peer at its time divided by ours, on a logarithmic scale: right of the line it is slower."""
    rows = [r for r in table["rows"] if "median" in r["ours"]]
    by = table["statistic"]
    dots = [[(n, p[by] / r["ours"][by], p.get("agrees", True)) for n, p in r["peers"].items()
             if "median" in p] for r in rows]
    all_times = [x for row in dots for _, x, _ in row if x > 0]
    low = math.floor(math.log10(min([*all_times, 0.5])))
    high = math.ceil(math.log10(max([*all_times, 2])))
    left, top, step, width = 24 + 7 * max((len(r["name"]) for r in rows), default=20), 64, 20, 620
    height = top + step * len(rows) + 44

    def place(x):
        return left + width * (math.log10(x) - low) / (high - low)

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 30}" height="{height}" '
        f'viewBox="0 0 {left + width + 30} {height}" font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        '<text x="12" y="22" font-size="15" font-weight="bold">Time of each peer divided by that of Reprise</text>',
    ]
    x = left
    for name in dict.fromkeys(n for row in dots for n, _, _ in row):
        out.append(f'<circle cx="{x}" cy="40" r="5" fill="{COLOURS.get(name, "#555")}"/>'
                   f'<text x="{x + 10}" y="44">{escape(name)}</text>')
        x += 30 + 8 * len(name)
    for power in range(low, high + 1):
        at = place(10.0**power)
        out.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{top - 8}" y2="{height - 36}" stroke="#ddd"/>'
                   f'<text x="{at:.1f}" y="{height - 20}" text-anchor="middle">{10.0**power:g}</text>')
    out.append(f'<line x1="{place(1):.1f}" x2="{place(1):.1f}" y1="{top - 8}" y2="{height - 36}" stroke="#222" '
               'stroke-width="1.5"/>')
    out.append(f'<text x="{place(1):.1f}" y="{height - 5}" text-anchor="middle" fill="#555">'
               'left of the line the peer is faster, right of it Reprise</text>')
    for i, (row, row_dots) in enumerate(zip(rows, dots)):
        y = top + step * i + 6
        out.append(f'<text x="{left - 10}" y="{y + 4}" text-anchor="end">{escape(row["name"])}</text>'
                   f'<line x1="{left}" x2="{left + width}" y1="{y}" y2="{y}" stroke="#f0f0f0"/>')
        for name, time, agrees in row_dots:
            colour = COLOURS.get(name, "#555")
            fill = colour if agrees else "white"
            out.append(f'<circle cx="{place(time):.1f}" cy="{y}" r="5" fill="{fill}" stroke="{colour}" '
                       f'fill-opacity="0.85"><title>{escape(name)}: {time:.3g} times our time</title></circle>')
    return "\n".join([*out, "</svg>", ""])


def write(table, out):
    """OUT.json, OUT.md and OUT.svg; called after each row, so that a session cut short leaves what it had."""
    out.parent.mkdir(parents=True, exist_ok=True)
    for ending, text in ("json", json.dumps(table, indent=1) + "\n"), ("md", markdown(table)), ("svg", svg(table)):
        out.with_name(f"{out.name}.{ending}").write_text(text)
