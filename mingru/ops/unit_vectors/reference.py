from torch import Tensor
from torch.nn import functional as F

# A vector shorter than this is not made longer than it is times its inverse.
SHORTEST = 1e-12


def unit_vectors(vectors: Tensor) -> Tensor:
    # Contiguous, as the kernels have it: what follows reads the results side by side.
    return F.normalize(vectors, dim=-1, eps=SHORTEST).contiguous()
