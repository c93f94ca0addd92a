"""How the report spells numbers."""

from __future__ import annotations

from typing import Any


def fraction(value: float | None) -> str:
    """Three decimals; a dash where there is no number. 1.000 only for what is exactly 1, 0.000 for exactly 0."""
    if value is None or value != value:
        return "-"
    if 0 < value < 0.0005 or 0.9995 <= value < 1:
        return f"{value:.5f}"
    return f"{value:.3f}"


def p_value(value: float) -> str:
    """Three significant digits: 0.0128, 8.35e-4."""
    if value != value:
        return "-"
    if value >= 0.001:
        return f"{value:.3g}" if value < 1 else "1"
    mantissa, exponent = f"{value:.2e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def interval(low: float, high: float) -> str:
    return "-" if low != low else f"{low:.3f} to {high:.3f}"


def count(value: Any) -> str:
    return "-" if value is None or value != value else f"{value:,.0f}"


def plural(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def ratio(value: float) -> str:
    """Three significant digits, for what may be anything from 0 to infinity."""
    if value == float("inf"):
        return "inf"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def signed(value: float) -> str:
    return f"{value:+.3f}"
