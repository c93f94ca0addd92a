"""The tables of docs/exactness.md, each from the records of the study and of the search for its recipes."""

from __future__ import annotations

from collections import defaultdict

from mingru.report.document import Table, columns
from mingru.report.fisher import fisher
from mingru.report.intervals import clopper_pearson
from mingru.report.numbers import fraction, interval, p_value
from scripts.exact import LONG, wanted
from scripts.exactness_page.cells import (
    FASTER,
    FLAT,
    FOUND,
    HEADLINE,
    LENGTHS,
    RECIPES,
    REFERENCE,
    SMALLER,
    UNREAD,
    WIDTH,
    Record,
    cells,
    certificates,
    headline,
    layers,
    mean,
    search_recipe,
)
from scripts.exactness_page.seeds import n_clocks, proved_for, s3_hier, s5, s5_choices, safe_tokens


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
    return sum((record["task"], record["mixer"], record["config"]["d_model"]) == (task, mixer, WIDTH) for record in search)


def overview(study: list[Record], search: list[Record], task: str) -> Table:
    """A row for each cell of a task."""
    best = headline(study, task)
    found = [
        (RECIPES.index(key[2]), runs[0]["mixer"] != HEADLINE[task], *key[1:], runs) for key, runs in cells(study).items() if key[0] == task
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
                hardened(study, runs, 1024),
                clock_below(runs),
                f"{runs[0]['composer_parameters']:,}",
                str(runs[0]["state_size"]),
                str(effort(search, task, mixer)),
            ]
        )
    names = ("stack", "recipe", ">fits", ">95 % interval", ">fit_selected", ">P", *(f">@{length:,}" for length in LENGTHS))
    more = (
        ">exact at 1,024",
        f">at {LONG:,}",
        ">hardened: exact at 1,024",
        ">clock below",
        ">composer's parameters",
        ">state",
        ">searched",
    )
    headers, numeric = columns(*names, *more)
    return Table("overview", "", headers, rows, numeric)


def hardened(study: list[Record], runs: list[Record], length: int) -> str:
    """How many of these runs hardening made exact; a dash where it made none, or was not tried."""
    exact = made_exact(study, runs, length)
    return f"{exact}/{len(runs)}" if exact else "-"


def made_exact(study: list[Record], runs: list[Record], length: int) -> int:
    return sum(length in certificate["exact_at"] for certificate in certificates(study, runs).values())


def clock_below(runs: list[Record]) -> str:
    looked_at = [run for run in runs if "choices" in run and len(run["layers"]) > 1]
    return f"{sum(n_clocks(run) > 0 for run in looked_at)}/{len(looked_at)}" if looked_at else "-"


def smaller_groups(study: list[Record], *names: str) -> dict[tuple[str, str, str], list[Record]]:
    """The runs of the last stage by group, composer and recipe, in the page's order."""
    there = {(task, runs[0]["mixer"], name): runs for (task, _, name), runs in cells(study, *names).items()}
    planned = [(task, mixer, name) for task, mixers in SMALLER.items() for mixer in mixers for name in names]
    return {key: there[key] for key in planned if key in there}


def smaller(study: list[Record], search: list[Record]) -> Table:
    """The groups that are smaller than S5, a row for each group, composer and recipe."""
    rows = []
    for (task, mixer, name), runs in smaller_groups(study, FOUND, FASTER).items():
        fitting, certified = [run for run in runs if run["fit"]], certificates(study, runs).values()
        rows.append(
            [
                task,
                mixer,
                name,
                f"{len(fitting)}/{len(runs)}",
                *(fraction(mean([run["accuracy"][str(length)] for run in runs])) for length in LENGTHS),
                *(exact_runs(runs, length) for length in (1024, LONG)),
                hardened(study, fitting, LONG),
                proved_for(min(certified, key=safe_tokens)) if certified else "-",
                f"{runs[0]['composer_parameters']:,}",
                str(runs[0]["state_size"]),
            ]
        )
    names = ("task", "composer", "recipe", ">fits", *(f">@{length:,}" for length in LENGTHS), ">exact at 1,024", f">at {LONG:,}")
    more = (f">of those that fit, hardened: exact at {LONG:,}", ">proved for, at least", ">composer's parameters", ">state")
    headers, numeric = columns(*names, *more)
    return Table("smaller", "", headers, rows, numeric)


def recipes(study: list[Record], search: list[Record]) -> Table:
    """The runs of the search, a row for each stack and recipe."""
    tried = defaultdict(list)
    for run in sorted(search, key=lambda run: (run["task"], run["mixer"], layers(run), search_recipe(run), run["seed"])):
        tried[run["task"], layers(run), search_recipe(run)].append(run)
    rows = []
    for key, runs in tried.items():
        fits = [run["steps_to_fit"] for run in runs if run["steps_to_fit"]]
        accuracy = [mean([run["accuracy"][str(length)] for run in runs if str(length) in run["accuracy"]]) for length in (1024, 4096)]
        first = ", ".join(str(step) for step in fits) or "never"
        parameters = f"{runs[0]['composer_parameters']:,}"
        rows.append([*key, f"{len(fits)}/{len(runs)}", first, *(fraction(each) for each in accuracy), parameters])
    names = ("task", "stack", "recipe", ">fits in training", ">from step", ">@1,024", ">@4,096", ">composer's parameters")
    headers, numeric = columns(*names)
    return Table("recipes", "", headers, rows, numeric)


def stages(study: list[Record], search: list[Record]) -> Table:
    """How many of the runs that were planned are there."""
    there = defaultdict(list)
    for (task, _, name), runs in cells(study, FOUND, REFERENCE).items():
        there[task, runs[0]["mixer"], name] += [run["seed"] for run in runs]
    composers = {
        "s3_hier": ("selection", "givens", "reflection", "rotation", "delta_64"),
        "s5": FLAT,
    }
    rows = []
    for stage, (task, mixers) in enumerate(composers.items(), start=1):
        for mixer in mixers:
            done = [sum(seed < 12 for seed in there[task, mixer, name]) for name in (FOUND, REFERENCE)]
            rows.append([str(stage), task, mixer, *(f"{number} of 12" for number in done)])
    for task, mixer in (("s3_hier", "selection"), ("s5", "reflection"), ("s3_hier", "givens"), ("s5", "givens")):
        done = [len(there[task, mixer, name]) for name in (FOUND, REFERENCE)]
        rows.append(["3", task, mixer, *(f"{number} of 36" for number in done)])
    for task, mixers in SMALLER.items():
        numbers = {mixer: len(there[task, mixer, FOUND]) for mixer in mixers}
        for number in sorted(set(numbers.values()), reverse=True):
            alike = ", ".join(mixer for mixer in mixers if numbers[mixer] == number)
            rows.append(["4", task, alike, f"{number} of 6", "-"])
    headers, numeric = columns(">stage", "task", "composer", f">{FOUND} recipe", f">{REFERENCE}'s")
    return Table("stages", "", headers, rows, numeric)


def aims(study: list[Record], search: list[Record]) -> Table:
    """What was aimed at before the study began, beside what its headline cells reached."""
    above, flat = headline(study, "s3_hier"), headline(study, "s5")
    fitting = [run for run in flat if run["fit"]]
    certified = [certificates(study, runs).values() for runs in (above, flat)]
    exact = [made_exact(study, runs, LONG) for runs in (above, flat)]
    for_ever = sum(certificate["safe_tokens"]["float32"] is None for certificate in certified[0])
    read_off = sum(certificate["table"] == "weights" for certificate in certified[1])
    fits = [f"{sum(run['fit'] for run in runs)}/{len(runs)}" for runs in (above, flat)]
    small = {key: [run for run in runs if run["fit"]] for key, runs in smaller_groups(study, FOUND).items() if key[1] not in UNREAD}
    small_exact = sum(made_exact(study, runs, LONG) for runs in small.values())
    choices = [run for (_, mixer, _), runs in small.items() if mixer == "selection" for run in runs]
    at_1024 = [fraction(mean([run["accuracy"]["1024"] for run in runs])) for runs in (above, fitting)]
    rows = [
        ["S3-hier", "fits", "25/36", "35/36", fits[0]],
        ["", "mean accuracy at 1,024, all seeds", "0.571", "0.99", at_1024[0]],
        ["", "exact at 1,024", "none", "30/36", exact_runs(above, 1024)],
        ["", f"exact at {LONG:,}", "none", "18/36", exact_runs(above, LONG)],
        ["", f"hardened: exact at {LONG:,}", "none", "", f"{exact[0]}/{len(above)}"],
        ["", "hardened: proved for every length", "none", "", f"{for_ever}/{len(above)}"],
        ["S5", "fits", "0/36 to 1/36", "34/36", fits[1]],
        ["", "mean accuracy at 1,024, fitting seeds", "0.618", "0.8", at_1024[1]],
        ["", f"hardened: exact at {LONG:,}", "none", "34/36", f"{exact[1]}/{len(flat)}"],
        ["", "table read off the weights, without labels", "none", "18/36", f"{read_off}/{len(flat)}"],
        [
            ", ".join(SMALLER).upper(),
            f"all composers, of the fitting seeds, hardened: exact at {LONG:,}",
            "S3: 1/8, as learned",
            "all",
            f"{small_exact}/{sum(map(len, small.values()))}",
        ],
        ["", f"selection, of the fitting seeds, as learned: exact at {LONG:,}", "", "", exact_runs(choices, LONG)],
    ]
    headers, numeric = columns("task", "", ">reference", ">aim", ">reached")
    return Table("aims", "", headers, rows, numeric)


TABLES = {
    "aims": aims,
    "stages": stages,
    "overview s3_hier": lambda study, search: overview(study, search, "s3_hier"),
    "overview s5": lambda study, search: overview(study, search, "s5"),
    "s3_hier": s3_hier,
    "s5": s5,
    "s5_choices": s5_choices,
    "smaller": smaller,
    "recipes": recipes,
}
