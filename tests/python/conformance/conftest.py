"""Says which seed and device the conformance suite used, and how many cases each op had."""

import framework
import ways


def pytest_report_header():
    return (
        f"conformance: REPRISE_TEST_SEED={framework.SEED} REPRISE_TEST_DEVICE={ways.DEVICE} "
        f"REPRISE_TEST_BACKEND={ways.BACKEND} REPRISE_TEST_EFFORT={framework.EFFORT}"
    )


def pytest_terminal_summary(terminalreporter):
    if not framework.COUNTS:
        return
    terminalreporter.section("conformance cases by op")
    width = max(len(op) for op in framework.COUNTS) + 2
    entries = [f"{op:<{width}}{count:>6}" for op, count in sorted(framework.COUNTS.items())]
    for i in range(0, len(entries), 3):
        terminalreporter.write_line("   ".join(entries[i : i + 3]))
    terminalreporter.write_line(
        f"{sum(framework.COUNTS.values())} cases of {len(framework.COUNTS)} ops, "
        f"REPRISE_TEST_SEED={framework.SEED}, {ways.BACKEND} on {ways.DEVICE}"
    )
    if framework.WORST:
        terminalreporter.section("greatest errors in epsilons of the result's dtype")
        for op in sorted({op for op, _ in framework.WORST}):
            parts = [f"{dtype} {worst:.3g}" for (name, dtype), worst in framework.WORST.items() if name == op]
            terminalreporter.write_line(f"{op:<{width}}{', '.join(parts)}")
