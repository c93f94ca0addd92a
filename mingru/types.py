"""Axis legend and shape aliases.

B batch, T time, D channels (d_model or d_state), N blocks, K entries of a block or key dimension, V value dimension,
H heads, R rounds of Givens rotations, J micro-steps of one token (n_householder), C classes or output features.
Angles are in radians; time gaps (`delta_t`) in the user's unit.
"""

from jaxtyping import Float, Int
from torch import Tensor

Inputs = Float[Tensor, "B T D"]
Outputs = Float[Tensor, "B T D"]
State = Float[Tensor, "B ..."]
States = Float[Tensor, "B T ..."]
Tokens = Int[Tensor, "B T"]
Vectors = Float[Tensor, "B T F"]
Logits = Float[Tensor, "B ... C"]
Gaps = Float[Tensor, "B T"]
