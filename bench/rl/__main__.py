"""Reinforcement learning benchmarks: ``python bench/rl [--quick | --full]`` writes bench/rl/RESULTS.md.

Needs what is in bench/rl/requirements.txt beside kernsift.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import control
import evaluation
import gymnasium

HERE = Path(__file__).parent


def evaluation_page(result, seeds, budget):
    rows, error, spread = result
    sizes = sorted({n for _, n, *_ in rows})
    lines = [
        "## Policy evaluation",
        "",
        "MountainCar, a car pushed the way it rolls and one time in five at random, discount 0.99. RMSE of the value",
        f"over 300 states the policy visits, mean ± standard error (median) over {seeds} seeds. The values themselves",
        f"have a standard deviation of {spread:.1f}; the truth is 200 Monte Carlo rollouts a state, standard",
        f"error {error:.2f}. Each method had {budget} random draws from its grid for each size, judged on four other",
        "sets of transitions and on other states. KernelLSTD keeps at most 200 kernels.",
        "",
        "| method | " + " | ".join(f"{n:,} transitions" for n in sizes) + " |",
        "|---|" + "---|" * len(sizes),
    ]
    for name in evaluation.GRIDS:
        cells = [f"{mean:.2f} ± {se:.2f} ({median:.2f})" for method, _, mean, se, median, _ in rows if method == name]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    lines += ["", "Chosen parameters:", ""]
    lines += [f"- {name}, {n:,}: `{json.dumps(best)}`" for name, n, *_, best in rows]
    return lines


def control_page(rows, seeds, budget):
    lines = [
        "## Control",
        "",
        "Mean steps of 20 greedy episodes after a fixed number of transitions from the task's own starting states,",
        f"± its standard error over {seeds} seeds; {budget} draws from each grid, judged on three other seeds.",
        "MountainCar: fewer is better, 200 is never arriving. CartPole: more is better, 500 is never falling.",
        "Policy iteration keeps at most 150 kernels for all of Q(s, a), the action being part of the input.",
        "",
        "| task | transitions | " + " | ".join(control.GRIDS) + " |",
        "|---|---|" + "---|" * len(control.GRIDS),
    ]
    for task in dict.fromkeys(row[0].name for row in rows):
        mine = [row for row in rows if row[0].name == task]
        cells = [f"{mean:.0f} ± {se:.0f}" for _, _, mean, se, _ in mine]
        lines.append(f"| {task} | {mine[0][0].transitions:,} | " + " | ".join(cells) + " |")
    lines += ["", "Chosen parameters:", ""]
    lines += [f"- {task.name}, {name}: `{json.dumps(best)}`" for task, name, _, _, best in rows]
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(prog="python bench/rl", description=__doc__)
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--quick", action="store_true", help="3 seeds, 4 draws, up to 2,000 transitions (the default)")
    mode.add_argument("--full", action="store_true", help="20 seeds, 24 draws (control: 12), up to 12,000 transitions")
    parser.add_argument("--seeds", type=int, help="other than the mode's")
    parser.add_argument("--control-seeds", type=int, help="other than --seeds, for control")
    parser.add_argument("--part", choices=["evaluation", "control"], help="only one")
    parser.add_argument("--out", type=Path, default=HERE / "RESULTS.md")
    args = parser.parse_args()
    seeds = args.seeds or (20 if args.full else 3)
    control_seeds = args.control_seeds or seeds
    sizes = [500, 2000, 12000] if args.full else [500, 2000]
    budget, control_budget = (24, 12) if args.full else (4, 2)
    began, pages = time.time(), []

    def say(text):
        print(f"[{time.time() - began:5.0f} s] {text}", flush=True)

    def write():
        command = f"python bench/rl --{'full' if args.full else 'quick'}"
        for name, value in [("--seeds", args.seeds), ("--control-seeds", args.control_seeds), ("--part", args.part)]:
            command += f" {name} {value}" if value else ""
        head = ["# Reinforcement learning", "", f"Written by `{command}` with gymnasium {gymnasium.__version__}.", ""]
        args.out.write_text("\n".join([*head, *pages]).rstrip() + "\n", encoding="utf-8")

    if args.part != "control":
        pages += [*evaluation_page(evaluation.run(sizes, seeds, budget, say), seeds, budget), ""]
        write()
    if args.part != "evaluation":
        pages += [*control_page(control.run(control_seeds, control_budget, say), control_seeds, control_budget), ""]
        write()


if __name__ == "__main__":
    main()
