"""Batch sizes, lengths and state sizes of the rows, and much smaller ones to see whether everything runs."""

from __future__ import annotations

from dataclasses import dataclass

MIXERS = ("log", "signed", "rotation", "givens", "delta")
OPS = ("diagonal_scan", "rotation_scan", "givens_scan", "block_scan", "delta_scan", "reflection_scan", "selection_scan")
BATCH = 128


@dataclass(frozen=True)
class Shapes:
    quick: bool = False

    def batch(self, batch: int = BATCH) -> int:
        return max(1, batch // 32) if self.quick else batch

    def length(self, length: int) -> int:
        return max(4, length // 16) if self.quick else length

    def state(self, state: int) -> int:
        return max(64, state // 16) if self.quick else state

    def count(self, count: int) -> int:
        """How often something slow is repeated."""
        return max(3, count // 16) if self.quick else count
