"""Pictures pixel by pixel: orders, splits, files."""

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tasks.datamodule import EvaluationBatches, TrainBatches
from tasks.pixels import bit_reversal, digits, psmnist
from tests.tasks.conftest import mnist


def test_bit_reversed_orders_are_those_of_s4_and_s5():
    assert bit_reversal(784)[:12].tolist() == [0, 512, 256, 768, 128, 640, 384, 64, 576, 320, 192, 704]
    assert bit_reversal(64)[:6].tolist() == [0, 32, 16, 48, 8, 40]
    for count in (1, 2, 5, 64, 784):
        assert sorted(bit_reversal(count).tolist()) == list(range(count))


def test_a_sequence_is_the_picture_in_the_tasks_order(tmp_path):
    folder = mnist(tmp_path)
    raw = torch.frombuffer(bytearray((tmp_path / "t10k-images-idx3-ubyte").read_bytes()), dtype=torch.uint8, offset=16).view(20, 784)
    labels = torch.frombuffer(bytearray((tmp_path / "t10k-labels-idx1-ubyte").read_bytes()), dtype=torch.uint8, offset=8)
    order = torch.randperm(784, generator=torch.Generator().manual_seed(20260719))
    for task, expected in ((psmnist("plain", folder), order), (psmnist("reversed", folder, bit_reversed=True), bit_reversal(784))):
        batch = task.split("test").examples(784)
        assert torch.equal(batch.inputs[..., 0], raw[:, expected].float() / 255)
        assert torch.equal(batch.targets, labels.long())


def test_every_picture_is_in_one_split(tmp_path):
    folder = mnist(tmp_path)
    for bit_reversed, sizes in ((False, [50, 5, 5, 20]), (True, [54, 3, 3, 20])):
        splits = psmnist("split", folder, bit_reversed).splits
        assert [len(splits[part]) for part in ("train", "validation", "fresh", "test")] == sizes
        assert sorted(torch.cat(list(splits.values())).tolist()) == list(range(80))
    assert psmnist("ladder", folder).splits["train"].tolist() == list(range(50))


def test_a_round_of_training_shows_every_picture_once_and_evaluation_has_no_more_than_there_are(tmp_path):
    task = psmnist("round", mnist(tmp_path))
    batches = TrainBatches(task, 0, 784, 10)
    shown = torch.cat([batches[index].inputs for index in range(5)])
    assert len({picture.numpy().tobytes() for picture in shown}) == 50
    assert [len(batch.inputs) for batch in EvaluationBatches(task, "test", 784, 512)] == [20]


def test_packed_files_are_read_too(tmp_path):
    plain = psmnist("plain", mnist(tmp_path)).split("train").examples(784)
    for file in list(tmp_path.iterdir()):
        file.with_name(f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes()))
        file.unlink()
    packed = psmnist("packed", str(tmp_path)).split("train").examples(784)
    assert all(torch.equal(a, b) for a, b in zip(plain[:2], packed[:2], strict=True))


def test_missing_and_broken_files_are_one_line(tmp_path):
    with pytest.raises(ValueError, match=r"mine: .*train-images-idx3-ubyte\[.gz\] is missing; task.folder names the folder") as error:
        psmnist("mine", str(tmp_path))
    assert "\n" not in str(error.value)
    mnist(tmp_path)
    (tmp_path / "t10k-labels-idx1-ubyte").write_bytes(b"\0\0\x08\x01\0\0\0\x20tooshort")
    with pytest.raises(ValueError, match="t10k-labels-idx1-ubyte is not an IDX file of bytes"):
        psmnist("mine", str(tmp_path))
    mnist(tmp_path)
    (tmp_path / "t10k-labels-idx1-ubyte").write_bytes(b"\0\0\x08\x01\0\0\0\x01\x05")
    with pytest.raises(ValueError, match=r"holds 80 pictures .* and 61 labels"):
        psmnist("mine", str(tmp_path))


def test_without_scikit_learn_digits_say_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(ValueError, match="digits: the pictures come with scikit-learn: pip install scikit-learn"):
        digits("digits")


@pytest.mark.peers
def test_scikit_learns_digits_are_what_is_read(tmp_path):
    packages = ["scikit-learn", "joblib", "threadpoolctl", "narwhals", "cloudpickle"]
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(tmp_path), *packages], check=True)
    question = (
        "from tasks.pixels import digits; b = digits('d').split('train').examples(64); print(*b.inputs.shape, *b.targets[:8].tolist())"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(Path(__file__).parents[2])])}
    found = subprocess.run([sys.executable, "-c", question], env=environment, capture_output=True, text=True)
    assert found.stdout == "1260 64 1 0 1 2 3 4 5 6 0\n", found.stderr
