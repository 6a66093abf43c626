"""Blocks of speed and memory."""

from __future__ import annotations

from typing import Any

from benchmarks.pages.stored import RESULTS, cases, lines
from benchmarks.pages.text import code, fixed, significant, table

Case = dict[str, Any]


def _seconds(case: Case) -> str:
    return f"{significant(case['seconds'])} s"


def _baseline(case: Case) -> str:
    return f"{significant(case['baseline_seconds'])} s" if case["baseline_seconds"] else ""


def _ratio(case: Case) -> str:
    return significant(case["ratio"]) if case["ratio"] else ""


def clipping() -> str:
    """One step's exact clipped sum beside `vmap(grad)`."""
    return table(
        cases("clipping_cpu.txt").values(),
        {
            "kernel, support, d, batch": lambda case: (
                case["case"].replace(" s=", ", ").replace(" d=", ", ").replace(" batch=", ", ")
            ),
            "`vmap(grad)`": _baseline,
            "exact": _seconds,
            "ratio": _ratio,
            "memory of `vmap(grad)`, MB": lambda case: fixed(case["baseline_peak_mb"]),
            "memory of exact, MB": lambda case: fixed(case["peak_mb"]),
        },
    )


def in_short() -> str:
    """The ranges of the ratios of clipping, and of features beside torch."""
    return (
        "Clipping is exact and needs no per-example gradients: "
        f"{_range('clipping_cpu.txt')} times faster than `vmap(grad)`. "
        f"Features of images take two CPU cores {_range('beside_torch_cpu.txt')} times less than "
        "torch 1.13, by kymatio or by its convolutions."
    )


def _range(file: str) -> str:
    ratios = [case["ratio"] for case in cases(file).values()]
    return f"{significant(min(ratios))} to {significant(max(ratios))}"


def float64() -> str:
    """How much of a step is float64, and what a card takes whose float64 has a 32nd of the rate."""
    steps = {
        "kip 10 x 784 x 500": "DP-KIP, FC-NTK, 10 images of 784 values, batch 500",
        "kip 100 x 3072 x 500": "DP-KIP, FC-NTK, 100 images of 3072 values, batch 500",
        "kip 500 x 3072 x 500": "DP-KIP, FC-NTK, 500 images of 3072 values, batch 500",
        "teacher 3992 x 4096": "private teacher, 3992 features, batch 4096",
        "generator 784 x 5000": "generator, e-NTK, batch 5000",
    }
    found = cases("float64_share_cpu.txt")
    return table(
        [(step, found[case]) for case, step in steps.items()],
        {
            "step": lambda row: row[0],
            "operations, in thousand millions": lambda row: significant(row[1]["gflops"]),
            "of them float64": lambda row: f"{100 * row[1]['float64_share']:.3g} %",
            "times as long, where float64 has a 32nd of the rate": lambda row: (
                f"{row[1]['slower_32']:.2g}"
            ),
        },
    )


def steps() -> str:
    """All steps of a run, and how long a start takes."""
    return table(
        cases("dp_kip_epoch_cpu.txt").values(),
        {
            "what": lambda case: (
                case["case"].replace("startup", "start:") + ", extrapolated" * case["extrapolated"]
            ),
            "steps": lambda case: str(case["num_steps"] or ""),
            "seconds": lambda case: significant(case["seconds"], 3),
            "memory, MB": lambda case: (
                fixed(case["process_peak_mb"]) if case["process_peak_mb"] else ""
            ),
        },
    )


def commands() -> str:
    """Whole commands, start-up and judging included."""
    rows, machine = [], ""
    for line in (RESULTS / "whole_commands_cpu.txt").read_text().splitlines():
        if line.startswith("# device: "):
            machine = line.removeprefix("# device: cpu: ").split(",")[0].removesuffix(" Processor")
        elif not line.startswith("#"):
            seconds, gigabytes, said = line.split(maxsplit=2)
            command, _, remark = said.partition("(")
            rows.append((seconds, gigabytes, command.strip(), remark.removesuffix(")"), machine))
    return table(
        rows,
        {
            "command": lambda row: code(row[2]),
            "seconds": lambda row: row[0],
            "memory, GB": lambda row: row[1].replace("-", ""),
            "machine": lambda row: row[4],
            "remark": lambda row: row[3],
        },
    )


def waits() -> str:
    """Commands by another commit and by this one, in turn: the first time, and again."""

    def both(key: str) -> Any:
        return lambda case: f"{significant(case['baseline_' + key])} / {significant(case[key])}"

    return table(
        cases("waits_cpu.txt").values(),
        {
            "case": lambda case: case["case"],
            "command": lambda case: code(case["command"]),
            "seconds, nothing kept": both("seconds"),
            "again": both("again_seconds"),
            "seconds of both cores, nothing kept": both("cpu_seconds"),
            "memory, MB": both("peak_mb"),
        },
    )


def phases() -> str:
    """Where the time of short runs goes, phase by phase."""
    found = [case for case in _where_time_goes() if case["calls"] is None]
    return table(
        found,
        {
            "run: phase": lambda case: case["case"],
            "seconds": _rounded_seconds,
            "share": _percent,
        },
    )


def operations() -> str:
    """Of the same runs all operations that take a twentieth of their operations or more."""
    found = [case for case in _where_time_goes() if case["calls"] and case["share"] >= 0.05]
    return table(
        found,
        {
            "run / program: operation": lambda case: case["case"],
            "calls": lambda case: str(case["calls"]),
            "seconds": _rounded_seconds,
            "share": _percent,
        },
    )


def _where_time_goes() -> list[Case]:
    return list(cases("where_time_goes_cpu.txt").values())


def _rounded_seconds(case: Case) -> str:
    return significant(case["seconds"])


def _percent(case: Case) -> str:
    return f"{100 * case['share']:.0f} %"


def parts() -> str:
    """Features beside kymatio and torch, networks beside XLA's, e-NTK beside `vmap(grad)`."""
    files = {
        "scattering_cpu.txt": ("scattering", "kymatio's JAX backend"),
        "beside_torch_cpu.txt": ("features", "kymatio on torch 1.13, torch 1.13"),
        "networks_cpu.txt": ("networks", "XLA's own convolutions and pooling"),
        "entk_embedding_cpu.txt": ("e-NTK", "`vmap(grad)`"),
    }
    rows = [(what, case) for file, what in files.items() for case in cases(file).values()]
    return table(
        rows,
        {
            "part": lambda row: row[0][0],
            "case": lambda row: row[1]["case"],
            "here": lambda row: _seconds(row[1]),
            "beside": lambda row: row[0][1],
            "takes": lambda row: _baseline(row[1]),
            "ratio": lambda row: _ratio(row[1]),
        },
    )


# --- On a GPU ----------------------------------------------------------------------------------

_GPU = "gpu_h100.txt"
_ON_PAPER = "gpu_on_paper_cpu.txt"


def gpu() -> str:
    """Parts on an H100 beside two CPU cores; those of the e-NTK were nearly all compilation."""
    on_cpu: dict[str, Case] = {}
    for name in ("clipping", "float64_share", "ntk_throughput", "scattering", "networks"):
        on_cpu |= {f"{name} {case}": record for case, record in cases(f"{name}_cpu.txt").items()}
    shown = [case for case in cases(_GPU).values() if case["benchmark"] != "entk_embedding"]

    def cores(case: Case) -> str:
        kernel = "FC-NTK " if case["benchmark"] == "clipping" else ""
        found = on_cpu.get(f"{case['benchmark']} {kernel}{case['case']}")
        return _milliseconds(found) if found else ""

    return table(
        shown,
        {
            "part": lambda case: code(f"benchmarks/{case['benchmark']}.py"),
            "case": lambda case: case["case"],
            "H100, ms": _milliseconds,
            "compiling, s": lambda case: significant(case["compile_seconds"]),
            "two CPU cores, ms": cores,
        },
    )


def _milliseconds(case: Case) -> str:
    return significant(1000 * case["seconds"])


def gpu_runs() -> str:
    """DP-KIP of 50 images of CIFAR-10 per class on an H100."""
    return table(
        list(lines(_GPU, "run")),
        {
            "run": lambda row: row[0],
            "started": lambda row: row[1],
            "seconds to the first step": lambda row: row[2],
            "seconds in all": lambda row: row[3],
            "KRR test accuracy": lambda row: row[4],
        },
    )


def gpu_compiling() -> str:
    """Seconds that compiling took on an H100, by XLA_FLAGS."""
    return table(
        list(lines(_GPU, "program")),
        {
            "program": lambda row: row[0],
            "as it is": lambda row: row[1],
            "by `XLA_FLAGS=--xla_gpu_autotune_level=0`": lambda row: row[2] if row[2:] else "",
            "remark": lambda row: row[3].strip("()") if row[3:] else "",
        },
    )


def gpu_on_paper() -> str:
    """Rooflines of the programs of a thousand million operations or more."""
    large = [case for case in cases(_ON_PAPER).values() if case["gflops"] >= 1]

    def card(name: str) -> Any:
        return lambda case: significant(case[f"{name}_ms"])

    return table(
        large,
        {
            "run: program": lambda case: code(case["case"]),
            "operations, in thousand millions": lambda case: significant(case["gflops"]),
            "of them float64": lambda case: f"{significant(100 * case['float64_share'])} %",
            "memory, MB": lambda case: fixed(case["memory_mb"]),
            "V100, ms": card("v100"),
            "H100, ms": card("h100"),
            "H200, ms": card("h200"),
        },
    )
