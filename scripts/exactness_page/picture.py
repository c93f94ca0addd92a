"""The pictures of docs/exactness.md."""

from __future__ import annotations

from matplotlib.figure import Figure

from mingru.report.plots import style
from scripts.exact import LONG
from scripts.exactness_page.cells import EARLIER, FOUND, HEADLINE, LENGTHS, RECIPES, Record, cells, hardened_from, headline, mean


def curve(record: Record) -> dict[int, float]:
    """Accuracy by length, of all lengths at which it was measured."""
    counted = record.get("exactness", {}).get("measured", {})
    long = {int(length): 1 - found["wrong"] / found["tokens"] for length, found in counted.items()}
    return dict(sorted((long | {int(length): accuracy for length, accuracy in record["accuracy"].items()}).items()))


@style.styled
def by_length(study: list[Record], task: str) -> Figure:
    """Accuracy by length: a thin line for each seed, a thick one for the mean; a panel for each recipe."""
    shown = {(key[2], runs[0]["mixer"]): runs for key, runs in cells(study).items() if key[0] == task and key[2] != EARLIER}
    if hardened := hardened_from(study, headline(study, task)):
        shown[FOUND, f"{HEADLINE[task]}, hardened"] = hardened
    panels = sorted({name for name, _ in shown}, key=RECIPES.index)
    mixers = sorted({mixer for _, mixer in shown}, key=lambda mixer: (not mixer.startswith(HEADLINE[task]), mixer))
    drawing, axes = style.figure(3.2, columns=max(len(panels), 1), share=True)
    for axis, panel in zip(axes, panels, strict=False):
        for mixer, mark in zip(mixers, style.marks(len(mixers)), strict=True):
            curves = [curve(run) for run in shown.get((panel, mixer), [])]
            lengths = [length for length in (*LENGTHS, LONG) if curves and all(length in each for each in curves)]
            for each in curves:
                axis.plot(lengths, [each[length] for length in lengths], color=mark["color"], alpha=0.3, linewidth=0.6)
            if curves:
                means = [mean([each[length] for each in curves]) for length in lengths]
                axis.plot(lengths, means, **mark, markersize=4, label=mixer)
        axis.set_xscale("log", base=2)
        axis.set_xticks([64, 1024, LONG], ["64", "1,024", f"{LONG:,}"])
        axis.set_ylim(0, 1.03)
        axis.set_title(f"{panel} recipe")
        axis.set_xlabel("length")
    axes[0].set_ylabel("accuracy")
    entries = dict(entry for axis in axes for entry in zip(*reversed(axis.get_legend_handles_labels()), strict=True))
    drawing.legend(entries.values(), entries.keys(), loc="outside lower center", ncols=3, fontsize=8)
    return drawing
