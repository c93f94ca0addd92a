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

PAGE = PROJECT / "docs" / "exactness.md"
PICTURES = PROJECT / "docs" / "pictures"
STUDY, SEARCH = (PROJECT / "docs" / "data" / name for name in ("exactness.jsonl", "recipes.jsonl"))
REFERENCE, FOUND, EARLIER = "reference", "found", "earlier"
# The cell that the others are compared with.
HEADLINE = {"s3_hier": "selection", "s5": "reflection"}
LENGTHS = (64, 256, 512, 1024)
LONG = 16_384
Record = dict[str, Any]


def read(file: Path) -> list[Record]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []


def recipe(record: Record) -> str:
    """The reference's: a constant rate. The one that the search ended with keeps the last weights. What was run before that is earlier."""
    config = record["config"]
    if config.get("schedule") is None:
        return REFERENCE
    return FOUND if config["evaluation"].get("select_last") else EARLIER


def cells(records: Iterable[Record]) -> dict[tuple[str, str, str], list[Record]]:
    """The runs by task, composer and recipe, each in the order of seeds; hardened ones are none."""
    found = defaultdict(list)
    for record in sorted((record for record in records if "hardened" not in record), key=lambda record: record["seed"]):
        found[record["task"], record["mixer"], recipe(record)].append(record)
    return found


def layers(record: Record) -> str:
    """The stack, bottom first, with the block size of a selection that is not the composer."""
    *below, composer = record["layers"]
    names = [f"{layer['mixer']} {layer['block_size']}" if "form" in layer else layer["mixer"] for layer in below]
    return " → ".join([*names, composer["mixer"]])


def mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def exact_at(record: Record, length: int) -> bool:
    return length in record.get("exactness", {}).get("exact_at", [])


def effort(search: list[Record], task: str, mixer: str) -> int:
    return sum(record["task"] == task and record["mixer"] == mixer for record in search)


def overview(study: list[Record], search: list[Record], task: str) -> Table:
    """A row for each cell of a task."""
    found = {key[1:]: runs for key, runs in cells(study).items() if key[0] == task}
    best = found.get((HEADLINE[task], FOUND), [])
    rows = []
    order = {FOUND: 0, REFERENCE: 1, EARLIER: 2}
    for (mixer, name), runs in sorted(found.items(), key=lambda item: (order[item[0][1]], item[0][0] != HEADLINE[task], item[0][0])):
        fits, n = sum(run["fit"] for run in runs), len(runs)
        low, high = clopper_pearson(fits, n)
        against = fisher(sum(run["fit"] for run in best), len(best), fits, n) if best and runs is not best else None
        rows.append(
            [
                mixer,
                name,
                f"{fits}/{n}",
                interval(float(low), float(high)),
                f"{sum(run['fit_selected'] for run in runs)}/{n}",
                "-" if against is None else p_value(against),
                *(fraction(mean([run["accuracy"][str(length)] for run in runs])) for length in LENGTHS),
                *(f"{sum(exact_at(run, length) for run in runs)}/{n}" for length in (1024, LONG)),
                f"{runs[0]['composer_parameters']:,}",
                str(runs[0]["state_size"]),
                str(effort(search, task, mixer)),
            ]
        )
    names = ("composer", "recipe", ">fits", ">95 % interval", ">fit_selected", ">P", *(f">@{length:,}" for length in LENGTHS))
    headers, numeric = columns(*names, ">exact at 1,024", f">at {LONG:,}", ">composer's parameters", ">state", ">searched")
    return Table("overview", "", headers, rows, numeric)


def s3_hier(study: list[Record], search: list[Record]) -> Table:
    """Seed by seed, the headline cell."""
    rows = []
    for run in cells(study)["s3_hier", "selection", FOUND]:
        wrong = run.get("exactness", {}).get("measured", {})
        rows.append(
            [
                str(run["seed"]),
                str(run["steps_to_fit"] or "never"),
                f"{run['selection']['fresh_accuracy']:.5f}",
                *(f"{run['accuracy'][str(length)]:.4f}" for length in LENGTHS),
                *(f"{wrong[str(length)]['wrong']:,} in {wrong[str(length)]['tokens']:,}" if wrong else "-" for length in (1024, LONG)),
            ]
        )
    names = (">seed", ">fits from step", ">fresh at 128", *(f">@{length:,}" for length in LENGTHS))
    headers, numeric = columns(*names, ">wrong tokens at 1,024", f">at {LONG:,}")
    return Table("s3_hier", "", headers, rows, numeric)


def s5(study: list[Record], search: list[Record]) -> Table:
    """Seed by seed, the headline cell and what hardening made of it."""
    runs = cells(study)["s5", "reflection", FOUND]
    hardened = {(record["hardened"]["cell"], record["seed"]): record for record in study if "hardened" in record}
    rows = []
    for run in runs:
        made = hardened.get((run["cell"], run["seed"]))
        certificate = made["certificate"] if made else None
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
            "last weights" if config["evaluation"].get("select_last") else "best weights",
        ]
        accuracy = [fraction(run["accuracy"].get(str(length))) for length in (1024, 4096)]
        rows.append([run["task"], layers(run), ", ".join(told), str(run["seed"]), str(run["steps_to_fit"] or "never"), *accuracy])
    headers, numeric = columns("task", "stack", "recipe", ">seed", ">fits from step", ">@1,024", ">@4,096")
    return Table("recipes", "", headers, rows, numeric)


def stages(study: list[Record], search: list[Record]) -> Table:
    """How many of the runs that were planned are there."""
    there = cells(study)
    composers = {
        "s3_hier": ("selection", "givens", "reflection", "rotation", "delta_64"),
        "s5": ("reflection", "selection", "givens", "delta_64"),
    }
    rows = []
    for stage, (task, mixers) in enumerate(composers.items(), start=1):
        for mixer in mixers:
            done = [len([run for run in there.get((task, mixer, name), []) if run["seed"] < 12]) for name in (FOUND, REFERENCE)]
            rows.append([str(stage), task, mixer, *(f"{number} of 12" for number in done)])
    for task, mixer in (("s3_hier", "selection"), ("s5", "reflection"), ("s3_hier", "givens"), ("s5", "givens")):
        done = [len(there.get((task, mixer, name), [])) for name in (FOUND, REFERENCE)]
        rows.append(["3", task, mixer, *(f"{number} of 36" for number in done)])
    headers, numeric = columns(">stage", "task", "composer", f">{FOUND} recipe", f">{REFERENCE}'s")
    return Table("stages", "", headers, rows, numeric)


TABLES = {
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


@style.styled
def by_length(study: list[Record], task: str) -> Figure:
    """Accuracy by length: a thin line for each seed, a thick one for the mean; a panel for each recipe."""
    found = {key[1:]: runs for key, runs in cells(study).items() if key[0] == task and key[2] != EARLIER}
    panels = (FOUND, REFERENCE)
    drawing, axes = style.figure(2.6, columns=len(panels), share=True)
    mixers = sorted({key[0] for key in found}, key=lambda mixer: (mixer != HEADLINE[task], mixer))
    for axis, panel in zip(axes, panels, strict=True):
        for mixer, mark in zip(mixers, style.marks(len(mixers)), strict=True):
            runs = found.get((mixer, panel), [])
            lengths = sorted({int(length) for run in runs for length in run["accuracy"]})
            for run in runs:
                axis.plot(lengths, [run["accuracy"][str(length)] for length in lengths], color=mark["color"], alpha=0.25, linewidth=0.6)
            if runs:
                means = [mean([run["accuracy"][str(length)] for run in runs]) for length in lengths]
                axis.plot(lengths, means, **mark, markersize=4, label=f"{mixer} ({len(runs)})")
        axis.set_xscale("log", base=2)
        axis.set_xticks([64, 256, 512, 1024], ["64", "256", "512", "1,024"])
        axis.set_title(f"{panel} recipe")
        axis.set_xlabel("length")
        if axis.lines:
            axis.legend(fontsize=7)
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
