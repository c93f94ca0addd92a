import torch
from torch import nn

from mingru.mixers.projection import Projection


def test_each_head_has_the_numbers_of_a_linear_layer_of_its_own():
    torch.manual_seed(5)
    projection = Projection(12, {"query": 8, "key": [8, 8], "strength": 3})
    torch.manual_seed(5)
    layers = [nn.Linear(12, width) for width in (8, 8, 8, 3)]
    assert torch.equal(projection.weight, torch.cat([layer.weight for layer in layers]))
    assert torch.equal(projection.bias, torch.cat([layer.bias for layer in layers]))


def test_heads_come_back_in_order_as_views_of_one_product():
    projection = Projection(12, {"gate": 4, "key": [3, 3]})
    x = torch.randn(2, 5, 12)
    gate, key = projection(x)
    product = torch.cat([gate, key], dim=-1)
    torch.testing.assert_close(product, nn.functional.linear(x, projection.weight, projection.bias))
    assert gate.untyped_storage().data_ptr() == key.untyped_storage().data_ptr()


def test_rows_find_a_head_in_the_weights():
    projection = Projection(12, {"gate": 4, "key": [3, 3], "scale": 2})
    x = torch.randn(2, 12)
    for name, head in zip(("gate", "key", "scale"), projection(x), strict=True):
        rows = projection.rows(name)
        torch.testing.assert_close(head, nn.functional.linear(x, projection.weight[rows], projection.bias[rows]))


def test_half_precision_is_widened_once():
    projection = Projection(12, {"gate": 4}).bfloat16()
    x = torch.randn(2, 5, 12, dtype=torch.bfloat16)
    (gate,) = projection(x)
    assert gate.dtype == torch.float32
    assert torch.equal(gate.bfloat16(), nn.functional.linear(x, projection.weight, projection.bias))
