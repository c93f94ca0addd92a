import pytest
import torch

from tests.ops.cases import CASES

diagonal, rotation, givens, block, delta, reflection, selection, _ = CASES
every_op = pytest.mark.parametrize("case", CASES, ids=str)


def refused(case, change, message):
    arguments = case.arguments(2, 3)
    with pytest.raises(ValueError, match=message) as refusal:
        case.op(*change([argument.detach() for argument in arguments]))
    assert str(refusal.value).startswith(f"{case.op.__name__}: ")


def replaced(place, function):
    return lambda arguments: [function(argument) if at == place else argument for at, argument in enumerate(arguments)]


@every_op
def test_an_empty_sequence_is_refused(case):
    def without_tokens(arguments):
        return [argument if at == case.state else argument[:, :0] for at, argument in enumerate(arguments)]

    refused(case, without_tokens, r"T = 0; wanted at least 1")


@every_op
def test_an_empty_batch_is_refused(case):
    refused(case, lambda arguments: [argument[:0] for argument in arguments], r"B = 0; wanted at least 1")


@every_op
def test_a_length_that_differs_is_refused(case):
    refused(case, replaced(1 if case.state != 1 else 0, lambda x: x[:, :2]), r"so T = 2; wanted T = 3 as in \w+")


@every_op
def test_a_state_of_another_batch_is_refused(case):
    refused(case, replaced(case.state, lambda x: x[:1]), r"state has shape .* so B = 1; wanted B = 2")


@every_op
def test_a_missing_axis_is_refused(case):
    refused(case, replaced(case.state, lambda x: x[0]), r"state has shape .*, wanted \d axes \(B ")


@every_op
def test_integers_are_refused(case):
    refused(case, replaced(0, lambda x: x.long()), r"torch.int64, .*; wanted all of them float64, or each of them float32")


@every_op
def test_a_mixture_of_float32_and_float64_is_refused(case):
    refused(case, replaced(0, lambda x: x.float()), r"torch.float32.*torch.float64; wanted all of them float64, or each")


@every_op
def test_two_devices_are_refused(case):
    refused(case, replaced(0, lambda x: x.to("meta")), r"on meta.* on cpu; wanted one device")


@every_op
def test_what_is_no_tensor_is_refused(case):
    refused(case, replaced(0, lambda x: x.tolist()), r"'list'.*wanted tensors")


def test_an_odd_block_of_planes_is_refused():
    refused(givens, replaced(0, lambda x: x[..., :1]), r"1 planes a round for K = 4, wanted an even K and K/2")


def test_a_rotation_of_three_entries_is_refused():
    def triples(arguments):
        angle, scale, drive, state, decay = arguments
        return [angle, scale, torch.cat([drive, drive[..., :1]], -1), torch.cat([state, state[..., :1]], -1), decay]

    refused(rotation, triples, r"wanted a last axis of 2")


def test_a_transition_that_is_not_square_is_refused():
    refused(block, replaced(0, lambda x: x[..., :2]), r"so M = 2; wanted M = 3 as in transition")


def test_keys_and_values_of_different_micro_steps_are_refused():
    refused(delta, replaced(2, lambda x: x[:, :, :1]), r"value has shape .* so J = 1; wanted J = 2 as in key")


def test_keys_and_strengths_of_different_factors_are_refused():
    refused(reflection, replaced(1, lambda x: x[:, :, :1]), r"strength has shape .* so J = 1; wanted J = 3 as in key")


def test_logits_that_are_not_square_are_refused():
    refused(selection, replaced(0, lambda x: x[..., :2]), r"so M = 2; wanted M = 3 as in logits")
