"""A matrix state per head, corrected one key at a time: H <- (I - s k k^T) H + s k v^T."""

from torch import Tensor

from mingru.ops.arguments import checked
from mingru.ops.delta_scan import reference

__all__ = ["delta_scan"]


def delta_scan(
    query: Tensor, key: Tensor, value: Tensor, strength: Tensor, state: Tensor, decay: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Outputs (B, T, H, V) and the final state (B, H, K, V) of the gated delta rule with J micro-steps a token.

    Each token first scales H by decay[t], then takes its micro-steps in order, H <- H + s k (v - H^T k)^T, and reads
    H^T q. query is (B, T, H, K), key (B, T, J, H, K) with unit norm, value (B, T, J, H, V), strength s (B, T, J, H) in
    (0, 2), the initial state (B, H, K, V), decay (B, T, H) or None for 1. The norm of a key is the caller's to keep:
    with |k| = 1 the state stays bounded.
    Half precision is computed and returned in float32. Raises ValueError for wrong shapes, dtypes or devices.
    """
    query, key, value, strength, state, decay = checked(
        "delta_scan",
        {
            "query": (query, "B T H K"),
            "key": (key, "B T J H K"),
            "value": (value, "B T J H V"),
            "strength": (strength, "B T J H"),
            "state": (state, "B H K V"),
            "decay": (decay, "B T H"),
        },
    )
    return reference.delta_scan(query, key, value, strength, state, decay)
