"""What hardening found, as a certificate to keep and as text to read."""

from __future__ import annotations

from typing import Any

import torch

from mingru.analysis.certificate import largest_miss, safe_tokens
from mingru.analysis.exactness import Count
from mingru.analysis.groups import describe
from mingru.analysis.hardening import Hardening
from mingru.analysis.layered import Layered
from mingru.analysis.representation import largest_violation, represents, restricted
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
    """Of a model of several layers, which is now a finite machine: everything but the measurements."""
    machine, group = found.machine, describe(found.table)
    return {
        "table": "weights",
        "group": {"order": group.order, "abelian": group.abelian, "element_orders": group.element_orders, "text": str(group)},
        "period": found.held.blocks[0].mixer.state_size,
        "share": found.share,
        "states": machine.states,
        "words": len(machine.acts),
        "answers": {"pairs": machine.transitions, "wrong": 0, "margin": machine.margin},
        "choice_margin": found.choice_margin,
        # No number is computed that is carried on, so that there is nothing to add up.
        "safe_tokens": {"float32": None, "float64": None},
    }


def block_account(hardening: Hardening, block: int) -> dict[str, Any]:
    orbit = hardening.orbits[block]
    found = represents(restricted(orbit.maps, orbit.states)) if orbit.dims else None
    return {
        "share": float(hardening.share[block]),
        "learned_violation": largest_violation(hardening.learned.linear[:, block].contiguous(), hardening.table),
        "violation": largest_violation(orbit.maps, hardening.table),
        "kept": orbit.kept,
        "dims": orbit.dims,
        "character_norm": found and found.norm,
        "kernel": found and found.kernel,
        "represents": "nothing" if found is None else found.image,
    }


def counted(count: Count) -> dict[str, Any]:
    return {"sequences": count.sequences, "tokens": count.tokens, "wrong": count.wrong, "first_wrong": count.first}


def block_lines(blocks: list[dict[str, Any]]) -> list[str]:
    """A table of the blocks that carry something, and one line for those that do not."""
    carrying = [(number, block) for number, block in enumerate(blocks) if block["dims"]]
    others = [block for block in blocks if not block["dims"]]
    rows = [
        [
            str(number),
            f"{block['learned_violation']:.2g}",
            f"{block['share']:.3f}",
            " + ".join(map(str, block["dims"])),
            f"{block['character_norm']:.3f}",
            block["represents"],
            f"{block['violation']:.1e}",
        ]
        for number, block in carrying
    ]
    headers = columns(">block", ">violation", ">share", ">dimensions", "><chi, chi>", "represents", ">hardened")
    lines = [table_text(Table("blocks", "", headers[0], rows, headers[1]))] if rows else []
    if others:
        worst = max(block["learned_violation"] for block in others)
        lines.append(f"Blocks that tell nothing of the product, held at their mean: {len(others)}, with violations up to {worst:.2g}.")
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
