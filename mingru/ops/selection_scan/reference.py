import torch
from torch import Tensor


def selection_scan(logits: Tensor, drive: Tensor, state: Tensor, decay: Tensor, by_source: bool) -> Tensor:
    """h[t] = P[t] (decay[t] h[t-1]) + drive[t], P a matrix of choices: the definition every kernel is judged by."""
    states = []
    for *coefficients, x in zip(*(given.unbind(1) for given in (logits, decay, drive)), strict=True):
        state = carry(*coefficients, state, by_source) + x
        states.append(state)
    return torch.stack(states, dim=1)


def carry(logits: Tensor, decay: Tensor, state: Tensor, by_source: bool) -> Tensor:
    """What one token makes of the state before it. Row m of `choice` is where entry m goes (by source), or what entry m takes."""
    # The second term is zero, or NaN where a logit is not finite: a softmax takes minus infinity for a number.
    choice = straight_through(logits) + 0 * logits.detach()
    kept = decay[..., None] * state
    if by_source:
        choice = choice.mT
    return (choice @ kept[..., None])[..., 0]


def straight_through(logits: Tensor) -> Tensor:
    """One at the largest logit of the last axis, the first of equals, and zero elsewhere; the gradient is the softmax's."""
    soft = torch.softmax(logits, dim=-1)
    hard = torch.zeros_like(soft).scatter(-1, logits.argmax(-1, keepdim=True), 1.0)
    # The second term is exactly zero.
    return hard + (soft - soft.detach())
