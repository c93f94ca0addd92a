"""The tables and pictures of docs/exactness.md, from the records in docs/data: python scripts/study.py renews them."""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))

from matplotlib.figure import Figure

from mingru.report.document import Table, columns
from mingru.report.fisher import fisher
from mingru.report.intervals import clopper_pearson
from mingru.report.numbers import fraction, interval, p_value
from mingru.report.plots import style
from mingru.report.table import table_text
from scripts.choices import alive
from scripts.exact import LONG, wanted

PAGE = PROJECT / "docs" / "exactness.md"
PICTURES = PROJECT / "docs" / "pictures"
STUDY, SEARCH = (PROJECT / "docs" / "data" / name for name in ("exactness.jsonl", "recipes.jsonl"))
REFERENCE, FOUND, EARLIER = "reference", "found", "earlier"
# The cell that the others are compared with, and the layers that the recipe that was found puts below a composer.
HEADLINE = {"s3_hier": "selection", "s5": "reflection"}
BELOW = {"s3_hier": "selection 2 → log → ", "s5": ""}
LENGTHS = (64, 256, 512, 1024)
Record = dict[str, Any]


def read(file: Path) -> list[Record]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []


def recipe(record: Record) -> str:
    """The reference's has a constant rate, and the one that the search ended with keeps the last weights. Others were run before that."""
    config = record["config"]
    if config.get("schedule") is None:
        return REFERENCE
    found = config["evaluation"].get("select_last") and layers(record) == BELOW[record["task"]] + record["mixer"]
    return FOUND if found else EARLIER


def cells(records: Iterable[Record], *recipes: str) -> dict[tuple[str, str, str], list[Record]]:
    """The runs by task, stack and recipe, each in the order of seeds; hardened ones are none."""
    found = defaultdict(list)
    for record in sorted((record for record in records if "hardened" not in record), key=lambda record: record["seed"]):
        found[record["task"], layers(record), recipe(record)].append(record)
    return {key: runs for key, runs in found.items() if not recipes or key[2] in recipes}


def headline(study: list[Record], task: str) -> list[Record]:
    return cells(study).get((task, BELOW[task] + HEADLINE[task], FOUND), [])


def layers(record: Record) -> str:
    """The stack, bottom first, with what tells the layers below the composer apart."""
    *below, composer = record["layers"]
    return " → ".join([*(" ".join([layer["mixer"], *told_apart(layer)]) for layer in below), composer["mixer"]])


def told_apart(layer: dict[str, Any]) -> list[str]:
    """A selection's block size, and that a `signed` is coupled or learns its start."""
    if layer["mixer"] == "selection":
        return [str(layer["block_size"])]
    return [word for key, word in (("coupled", "coupled"), ("learnable_h0", "h0")) if layer["mixer"] == "signed" and layer.get(key)]


def mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def exact_at(record: Record, length: int) -> bool | None:
    """Whether a run is exact; None where too few sequences were looked at to know."""
    measured = record.get("exactness", {}).get("measured", {}).get(str(length), {"sequences": 0})
    if measured["sequences"] >= wanted(length):
        return length in record["exactness"]["exact_at"]
    return False if any(accuracy < 1 for at, accuracy in record["accuracy"].items() if int(at) <= length) else None


def compared(best: list[Record], runs: list[Record]) -> str:
    """Fisher's P on the seeds that both have, so that it does not move as one of them gets more."""
    both = {run["seed"] for run in best} & {run["seed"] for run in runs}
    fits = [sum(run["fit"] for run in each if run["seed"] in both) for each in (best, runs)]
    return p_value(fisher(fits[0], len(both), fits[1], len(both)))


def exact_runs(runs: list[Record], length: int) -> str:
    known = [exact_at(run, length) for run in runs]
    unknown = known.count(None)
    return f"{known.count(True)}/{len(runs)}" + (f", {unknown} unknown" if unknown else "")


def effort(search: list[Record], task: str, mixer: str) -> int:
    return sum(record["task"] == task and record["mixer"] == mixer for record in search)


def overview(study: list[Record], search: list[Record], task: str) -> Table:
    """A row for each cell of a task."""
    best = headline(study, task)
    order = [FOUND, REFERENCE, EARLIER]
    found = [
        (order.index(key[2]), runs[0]["mixer"] != HEADLINE[task], *key[1:], runs) for key, runs in cells(study).items() if key[0] == task
    ]
    rows = []
    for *_, stack, name, runs in sorted(found, key=lambda row: row[:4]):
        fits, n, mixer = sum(run["fit"] for run in runs), len(runs), runs[0]["mixer"]
        low, high = clopper_pearson(fits, n)
        rows.append(
            [
                stack,
                name,
                f"{fits}/{n}",
                interval(float(low), float(high)),
                f"{sum(run['fit_selected'] for run in runs)}/{n}",
                "-" if not best or runs[0] is best[0] else compared(best, runs),
                *(fraction(mean([run["accuracy"][str(length)] for run in runs])) for length in LENGTHS),
                *(exact_runs(runs, length) for length in (1024, LONG)),
                clock_below(runs),
                f"{runs[0]['composer_parameters']:,}",
                str(runs[0]["state_size"]),
                str(effort(search, task, mixer)),
            ]
        )
    names = ("stack", "recipe", ">fits", ">95 % interval", ">fit_selected", ">P", *(f">@{length:,}" for length in LENGTHS))
    headers, numeric = columns(*names, ">exact at 1,024", f">at {LONG:,}", ">clock below", ">composer's parameters", ">state", ">searched")
    return Table("overview", "", headers, rows, numeric)


def s3_hier(study: list[Record], search: list[Record]) -> Table:
    """Seed by seed, the headline cell."""
    rows = []
    for run in headline(study, "s3_hier"):
        wrong = run.get("exactness", {}).get("measured", {})
        clocks = "-" if "choices" not in run else str(n_clocks(run))
        entries = "-" if "choices" not in run else alive([block["alive"] for block in blocks_of(run, -1)])
        rows.append(
            [
                str(run["seed"]),
                str(run["steps_to_fit"] or "never"),
                f"{run['selection']['fresh_accuracy']:.5f}",
                *(f"{run['accuracy'][str(length)]:.4f}" for length in LENGTHS),
                *(f"{wrong[str(length)]['wrong']:,} in {wrong[str(length)]['tokens']:,}" if wrong else "-" for length in (1024, LONG)),
                clocks,
                entries,
            ]
        )
    names = (">seed", ">fits from step", ">fresh at 128", *(f">@{length:,}" for length in LENGTHS))
    headers, numeric = columns(*names, ">wrong tokens at 1,024", f">at {LONG:,}", ">clocks below", "entries alive in the composer's blocks")
    return Table("s3_hier", "", headers, rows, numeric)


def blocks_of(run: Record, layer: int) -> list[dict[str, Any]]:
    """What the blocks of one of a run's selections have become (scripts/choices.py)."""
    return run["choices"]["layers"][layer]["blocks"]


def n_clocks(run: Record) -> int:
    """Blocks of the bottom layer that have one state at even positions and another at odd ones."""
    return sum(block["states"] == [1, 1] and block["common"] == 0 for block in blocks_of(run, 0))


def clock_below(runs: list[Record]) -> str:
    looked_at = [run for run in runs if "choices" in run]
    return f"{sum(n_clocks(run) > 0 for run in looked_at)}/{len(looked_at)}" if looked_at else "-"


def s5(study: list[Record], search: list[Record]) -> Table:
    """Seed by seed, the headline cell and what hardening made of it."""
    runs = headline(study, "s5")
    hardened = {record["seed"]: record for record in hardened_from(study, runs)}
    rows = []
    for run in runs:
        certificate = hardened[run["seed"]]["certificate"] if run["seed"] in hardened else None
        full = next((stage["step"] for stage in run["stages"] if stage["length"] == run["length"]), None)
        rows.append(
            [
                str(run["seed"]),
                str(full or "never"),
                f"{run['selection']['fresh_accuracy']:.5f}",
                *(f"{run['accuracy'][str(length)]:.4f}" for length in LENGTHS),
                "-" if certificate is None else f"{certificate['reading']['margin']:.2f}",
                "-" if certificate is None else str(sum(bool(block["dims"]) for block in certificate["blocks"])),
                "-" if certificate is None else f"{max(certificate['exact_at'], default=0):,}",
                "-" if certificate is None else f"{certificate['safe_tokens']['float32']:,}",
            ]
        )
    select = runs[0]["config"]["evaluation"]["select_length"] if runs else "-"
    names = (">seed", ">full length from step", f">fresh at {select}", *(f">@{length:,}" for length in LENGTHS))
    more = (">margin of the table read", ">blocks that carry it", ">hardened: exact up to", ">proved for")
    headers, numeric = columns(*names, *more)
    return Table("s5", "", headers, rows, numeric)


def recipes(study: list[Record], search: list[Record]) -> Table:
    """Every run of the search."""
    rows = []
    for run in sorted(search, key=lambda run: (run["task"], layers(run), run["seed"])):
        config = run["config"]
        schedule, curriculum = config["schedule"], config["curriculum"]
        told = [
            "constant" if schedule is None else f"falls over {schedule['share']:g}" if "share" in schedule else "cosine",
            *(["doubling"] if curriculum else []),
            *([f"clip {config['clip']:g}"] if config["clip"] else []),
            *([f"T = {config['length']}"] if config["length"] != 64 else []),
            *([f"{config['steps']} steps"] if config["steps"] != 1600 else []),
            "last weights" if config["evaluation"].get("select_last") else "best weights",
        ]
        accuracy = [fraction(run["accuracy"].get(str(length))) for length in (1024, 4096)]
        rows.append([run["task"], layers(run), ", ".join(told), str(run["seed"]), str(run["steps_to_fit"] or "never"), *accuracy])
    headers, numeric = columns("task", "stack", "recipe", ">seed", ">fits from step", ">@1,024", ">@4,096")
    return Table("recipes", "", headers, rows, numeric)


def stages(study: list[Record], search: list[Record]) -> Table:
    """How many of the runs that were planned are there."""
    there = defaultdict(list)
    for (task, _, name), runs in cells(study, FOUND, REFERENCE).items():
        there[task, runs[0]["mixer"], name] += [run["seed"] for run in runs]
    composers = {
        "s3_hier": ("selection", "givens", "reflection", "rotation", "delta_64"),
        "s5": ("reflection", "selection", "givens", "delta_64"),
    }
    rows = []
    for stage, (task, mixers) in enumerate(composers.items(), start=1):
        for mixer in mixers:
            done = [sum(seed < 12 for seed in there[task, mixer, name]) for name in (FOUND, REFERENCE)]
            rows.append([str(stage), task, mixer, *(f"{number} of 12" for number in done)])
    for task, mixer in (("s3_hier", "selection"), ("s5", "reflection"), ("s3_hier", "givens"), ("s5", "givens")):
        done = [len(there[task, mixer, name]) for name in (FOUND, REFERENCE)]
        rows.append(["3", task, mixer, *(f"{number} of 36" for number in done)])
    headers, numeric = columns(">stage", "task", "composer", f">{FOUND} recipe", f">{REFERENCE}'s")
    return Table("stages", "", headers, rows, numeric)


def aims(study: list[Record], search: list[Record]) -> Table:
    """What was aimed at before the study began, beside what its headline cells reached."""
    above, flat = headline(study, "s3_hier"), headline(study, "s5")
    fitting = [run for run in flat if run["fit"]]
    certificates = [run["certificate"] for run in hardened_from(study, flat)]
    exact = sum(LONG in certificate["exact_at"] for certificate in certificates)
    read_off = sum(certificate["table"] == "weights" and certificate["equals_task"] for certificate in certificates)
    fits = [f"{sum(run['fit'] for run in runs)}/{len(runs)}" for runs in (above, flat)]
    at_1024 = [fraction(mean([run["accuracy"]["1024"] for run in runs])) for runs in (above, fitting)]
    rows = [
        ["S3-hier", "fits", "25/36", "35/36", fits[0]],
        ["", "mean accuracy at 1,024, all seeds", "0.571", "0.99", at_1024[0]],
        ["", "exact at 1,024", "none", "30/36", exact_runs(above, 1024)],
        ["", f"exact at {LONG:,}", "none", "18/36", exact_runs(above, LONG)],
        ["S5", "fits", "0/36 to 1/36", "34/36", fits[1]],
        ["", "mean accuracy at 1,024, fitting seeds", "0.618", "0.8", at_1024[1]],
        ["", f"hardened: exact at {LONG:,}", "none", "34/36", f"{exact}/{len(flat)}"],
        ["", "table read off the weights, without labels", "none", "18/36", f"{read_off}/{len(flat)}"],
    ]
    headers, numeric = columns("task", "", ">reference", ">aim", ">reached")
    return Table("aims", "", headers, rows, numeric)


def hardened_from(study: list[Record], runs: list[Record]) -> list[Record]:
    """The hardened models that were made from these runs."""
    made_from = {(run["cell"], run["seed"]) for run in runs}
    return [run for run in study if "hardened" in run and (run["hardened"]["cell"], run["seed"]) in made_from]


TABLES = {
    "aims": aims,
    "stages": stages,
    "overview s3_hier": lambda study, search: overview(study, search, "s3_hier"),
    "overview s5": lambda study, search: overview(study, search, "s5"),
    "s3_hier": s3_hier,
    "s5": s5,
    "recipes": recipes,
}


def renewed(text: str) -> str:
    """The page with each table, between its two marks, as the records have it now."""
    study, search = read(STUDY), read(SEARCH)
    for name, make in TABLES.items():
        begin, end = (f"<!-- scripts/study.py {name}: {side} -->" for side in ("begin", "end"))
        pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
        if not pattern.search(text):
            raise ValueError(f"{PAGE}: has no marks for the table {name!r}, {begin} and {end}")
        table = table_text(make(study, search))
        text = pattern.sub(lambda _, begin=begin, table=table, end=end: f"{begin}\n\n{table}\n\n{end}", text)
    return text


def curve(record: Record) -> dict[int, float]:
    """Accuracy by length, of all lengths at which it was measured."""
    counted = record.get("exactness", {}).get("measured", {})
    long = {int(length): 1 - found["wrong"] / found["tokens"] for length, found in counted.items()}
    return dict(sorted((long | {int(length): accuracy for length, accuracy in record["accuracy"].items()}).items()))


@style.styled
def by_length(study: list[Record], task: str) -> Figure:
    """Accuracy by length: a thin line for each seed, a thick one for the mean; a panel for each recipe."""
    shown = {(key[2], runs[0]["mixer"]): runs for key, runs in cells(study, FOUND, REFERENCE).items() if key[0] == task}
    if hardened := hardened_from(study, headline(study, task)):
        shown[FOUND, f"{HEADLINE[task]}, hardened"] = hardened
    panels = sorted({name for name, _ in shown}, key=(FOUND, REFERENCE).index)
    mixers = sorted({mixer for _, mixer in shown}, key=lambda mixer: (not mixer.startswith(HEADLINE[task]), mixer))
    drawing, axes = style.figure(2.8, columns=max(len(panels), 1), share=True)
    for axis, panel in zip(axes, panels, strict=False):
        for mixer, mark in zip(mixers, style.marks(len(mixers)), strict=True):
            curves = [curve(run) for run in shown.get((panel, mixer), [])]
            lengths = [length for length in (*LENGTHS, LONG) if curves and all(length in each for each in curves)]
            for each in curves:
                axis.plot(lengths, [each[length] for length in lengths], color=mark["color"], alpha=0.3, linewidth=0.6)
            if curves:
                means = [mean([each[length] for each in curves]) for length in lengths]
                axis.plot(lengths, means, **mark, markersize=4, label=f"{mixer} ({len(curves)})")
        axis.set_xscale("log", base=2)
        axis.set_xticks([*LENGTHS, LONG], [f"{length:,}" for length in (*LENGTHS, LONG)])
        axis.set_ylim(0, 1.03)
        axis.set_title(f"{panel} recipe")
        axis.set_xlabel("length")
        style.legend(axis, len(mixers))
    axes[0].set_ylabel("accuracy")
    return drawing


def main() -> int:
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    PICTURES.mkdir(exist_ok=True)
    for task in HEADLINE:
        file = PICTURES / f"exactness_{task}.svg"
        by_length(read(STUDY), task).savefig(file, metadata={"Date": None})
        print(file.relative_to(PROJECT))
    print(PAGE.relative_to(PROJECT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
