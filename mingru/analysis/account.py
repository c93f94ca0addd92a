"""What hardening found, as a certificate to keep and as text to read."""

from __future__ import annotations

from typing import Any

import torch

from mingru.analysis.certificate import largest_miss, safe_tokens
from mingru.analysis.exactness import Count
from mingru.analysis.gauge import Gauge
from mingru.analysis.groups import describe
from mingru.analysis.hardening import Hardening
from mingru.analysis.layered import Layered
from mingru.analysis.orbit import Orbit
from mingru.analysis.representation import largest_violation, represents, restricted
from mingru.analysis.rest import safe_radius
from mingru.analysis.table import Reading
from mingru.report.document import Table, columns
from mingru.report.table import table_text


def certificate(hardening: Hardening, reading: Reading, table: str, radius: float) -> dict[str, Any]:
    """Everything but the measurements. `table` says whose it is: "weights" or "task"."""
    group, pairs = describe(hardening.table), hardening.answers
    blocks = [block_account(hardening, block) for block in range(hardening.exact.n_blocks)]
    return {
        "table": table,
        "group": {"order": group.order, "abelian": group.abelian, "element_orders": group.element_orders, "text": str(group)},
        "reading": {"fault": reading.fault, "margin": reading.margin, "rounds": reading.rounds},
        "relations": group.order**2,
        "largest_violation": max(block["violation"] for block in blocks),
        "largest_miss": largest_miss(hardening),
        "word": hardening.word,
        "answers": {"pairs": pairs.pairs, "wrong": pairs.wrong, "margin": pairs.margin},
        "radius": radius,
        "safe_tokens": {name: safe_tokens(hardening, radius, getattr(torch, name)) for name in ("float32", "float64")},
        "blocks": blocks,
    }


def layered_certificate(found: Layered) -> dict[str, Any]:
    """Of a model of several layers: all but the measurements. `states` are of a machine and `blocks` of a gauge, the other is null."""
    group, answers, situations = describe(found.spelling.table), found.answers, found.held.situations
    known = {
        "table": "weights",
        "group": {"order": group.order, "abelian": group.abelian, "element_orders": group.element_orders, "text": str(group)},
        "period": situations.period,
        "words": situations.words,
        "situations": len(situations),
        "share": found.held.share,
        "answers": {"pairs": answers.pairs, "wrong": answers.wrong, "margin": answers.margin},
    }
    gauge = found.gauge
    if gauge is None:
        # Nothing that is carried on is computed, so that there is no limit.
        return known | {"states": found.machine.states, "blocks": None, "safe_tokens": {"float32": None, "float64": None}}
    radius = safe_radius(found.held.stack, found.held.given, gauge.after_each(), torch.arange(group.order))
    return known | {
        "states": None,
        "blocks": [gauge_block(gauge, block) for block in range(len(gauge.orbits))],
        "word": gauge.word,
        "largest_miss": largest_miss(gauge),
        "radius": radius,
        "safe_tokens": {name: safe_tokens(gauge, radius, getattr(torch, name)) for name in ("float32", "float64")},
    }


def gauge_block(gauge: Gauge, block: int) -> dict[str, Any]:
    return {"share": float(gauge.share[block]), **representation(gauge.orbits[block])}


def representation(orbit: Orbit) -> dict[str, Any]:
    found = represents(restricted(orbit.maps, orbit.states[0])) if orbit.dims else None
    return {
        "kept": orbit.kept,
        "dims": orbit.dims,
        "character_norm": found and found.norm,
        "kernel": found and found.kernel,
        "represents": "nothing" if found is None else found.image,
    }


def block_account(hardening: Hardening, block: int) -> dict[str, Any]:
    orbit = hardening.orbits[block]
    return {
        "share": float(hardening.share[block]),
        "learned_violation": largest_violation(hardening.learned.linear[:, block].contiguous(), hardening.table),
        "violation": largest_violation(orbit.maps, hardening.table),
        **representation(orbit),
    }


def counted(count: Count) -> dict[str, Any]:
    return {"sequences": count.sequences, "tokens": count.tokens, "wrong": count.wrong, "first_wrong": count.first}


def block_lines(blocks: list[dict[str, Any]]) -> list[str]:
    """A table of the blocks that carry something, and one line for those that do not. Only flat models' maps have violations."""
    carrying = [(number, block) for number, block in enumerate(blocks) if block["dims"]]
    others = [block for block in blocks if not block["dims"]]
    flat = "violation" in blocks[0]
    rows = [
        [
            str(number),
            *([f"{block['learned_violation']:.2g}"] if flat else []),
            f"{block['share']:.3f}",
            " + ".join(map(str, block["dims"])),
            f"{block['character_norm']:.3f}",
            block["represents"],
            *([f"{block['violation']:.1e}"] if flat else []),
        ]
        for number, block in carrying
    ]
    names = (">block", *((">violation",) if flat else ()), ">share", ">dimensions", "><chi, chi>", "represents")
    headers = columns(*names, *((">hardened",) if flat else ()))
    lines = [table_text(Table("blocks", "", headers[0], rows, headers[1]))] if rows else []
    if others:
        worst = max(block["learned_violation"] for block in others) if flat else None
        tail = "." if worst is None else f", with violations up to {worst:.2g}."
        lines.append(f"Blocks that tell nothing of the product, held at their mean: {len(others)}{tail}")
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
