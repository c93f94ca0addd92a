"""What hardening found, as a certificate to keep and as text to read."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import torch
from torch import Tensor

from mingru.analysis.certificate import largest_miss, safe_tokens
from mingru.analysis.exact import ExactLayer
from mingru.analysis.exactness import Count
from mingru.analysis.groups import describe
from mingru.analysis.hardening import Hardening
from mingru.analysis.layered import Layered
from mingru.analysis.representation import largest_violation, represents, restricted
from mingru.analysis.rest import safe_radius
from mingru.analysis.table import Reading
from mingru.report.document import Table, columns
from mingru.report.table import table_text


def certificate(hardening: Hardening, reading: Reading, table: str, radius: float) -> dict[str, Any]:
    """Everything but the measurements. `table` says whose it is: "weights" or "task"."""
    blocks = [flat_block(hardening, block) for block in range(hardening.exact.n_blocks)]
    return {
        "table": table,
        "group": group_account(hardening.table),
        "reading": {"fault": reading.fault, "margin": reading.margin, "rounds": reading.rounds, "assigned": reading.assigned},
        "relations": len(hardening.table) ** 2,
        "largest_violation": max(block["violation"] for block in blocks),
        "answers": asdict(hardening.answers),
        **bound_account(hardening, radius),
        "blocks": blocks,
    }


def layered_certificate(found: Layered) -> dict[str, Any]:
    """All but the measurements. `states` are of a machine and `blocks` of a gauge, the other is null; `carriers` are a flat model's."""
    held, gauge = found.held, found.gauge
    known = {
        "table": "weights",
        "group": group_account(found.spelling.table),
        "period": held.situations.period,
        "words": held.situations.words,
        "situations": len(held.situations),
        "share": held.share,
        "answers": asdict(found.answers),
        "carriers": found.carriers,
    }
    if gauge is None:
        # Nothing that is carried on is computed, so that there is no limit.
        return known | {"states": found.machine.states, "blocks": None, "safe_tokens": {"float32": None, "float64": None}}
    radius = safe_radius(held.stack, held.given, gauge.after_each(), torch.arange(len(found.spelling.table)))
    blocks = [block_account(gauge, block) for block in range(len(gauge.orbits))]
    return known | {"states": None, "blocks": blocks, **bound_account(gauge, radius)}


def group_account(table: Tensor) -> dict[str, Any]:
    group = describe(table)
    return {"order": group.order, "abelian": group.abelian, "element_orders": group.element_orders, "text": str(group)}


def bound_account(layer: ExactLayer, radius: float) -> dict[str, Any]:
    """For how many tokens rounding cannot matter, and what that rests on."""
    return {
        "word": layer.word,
        "largest_miss": largest_miss(layer),
        "radius": radius,
        "safe_tokens": {name: safe_tokens(layer, radius, getattr(torch, name)) for name in ("float32", "float64")},
    }


def block_account(layer: ExactLayer, block: int) -> dict[str, Any]:
    orbit = layer.orbits[block]
    found = represents(restricted(orbit.maps, orbit.states[0])) if orbit.dims else None
    return {
        "share": float(layer.share[block]),
        "kept": orbit.kept,
        "dims": orbit.dims,
        "character_norm": found and found.norm,
        "kernel": found and found.kernel,
        "represents": "nothing" if found is None else found.image,
    }


def flat_block(hardening: Hardening, block: int) -> dict[str, Any]:
    """With the violations, which only the maps of a flat model's tokens have."""
    return block_account(hardening, block) | {
        "learned_violation": largest_violation(hardening.learned.linear[:, block].contiguous(), hardening.table),
        "violation": largest_violation(hardening.orbits[block].maps, hardening.table),
    }


def counted(count: Count) -> dict[str, Any]:
    return {"sequences": count.sequences, "tokens": count.tokens, "wrong": count.wrong, "first_wrong": count.first}


SHOWN = (
    (">violation", "learned_violation", "{:.2g}".format),
    (">share", "share", "{:.3f}".format),
    (">dimensions", "dims", lambda dims: " + ".join(map(str, dims))),
    ("><chi, chi>", "character_norm", "{:.3f}".format),
    ("represents", "represents", str),
    (">hardened", "violation", "{:.1e}".format),
)


def block_lines(blocks: list[dict[str, Any]]) -> list[str]:
    """A table of the blocks that carry something, and one line for those that do not."""
    shown = [column for column in SHOWN if column[1] in blocks[0]]
    rows = [[str(number), *(show(block[key]) for _, key, show in shown)] for number, block in enumerate(blocks) if block["dims"]]
    headers = columns(">block", *(header for header, _, _ in shown))
    lines = [table_text(Table("blocks", "", headers[0], rows, headers[1]))] if rows else []
    if others := [block for block in blocks if not block["dims"]]:
        violations = [block["learned_violation"] for block in others if "learned_violation" in block]
        worst = f", with violations up to {max(violations):.2g}" if violations else ""
        lines.append(f"Blocks that tell nothing of the product, held at their mean: {len(others)}{worst}.")
    return lines


def length_table(learned: dict[str, Any], counts: dict[str, Count]) -> str:
    """Accuracy by length, as learned (as the run's record has it) and hardened."""
    rows = [
        [
            length,
            f"{count.sequences:,}",
            f"{learned[length]:.4f}" if learned.get(length) is not None else "-",
            f"{count.accuracy:.6g}",
            f"{count.wrong:,}",
        ]
        for length, count in counts.items()
    ]
    headers = columns(">length", ">sequences", ">as learned", ">hardened", ">wrong tokens")
    return table_text(Table("lengths", "", headers[0], rows, headers[1]))
