"""Files of word problems: rows, products on the right, and back again."""

import runpy
import sys
from itertools import permutations, product
from pathlib import Path

import pytest
import torch

from tasks.algebra.names import named_group
from tasks.word_problem_file import WordProblemFile, all_words, different_words, left_products, read_words, write_words

SCRIPT = Path(__file__).parents[2] / "scripts" / "word_problem.py"


def even(n):
    return [p for p in permutations(range(n)) if sum(a > b for i, a in enumerate(p) for b in p[i + 1 :]) % 2 == 0]


def after(p, q):
    return tuple(p[i] for i in q)


# Elements in the order of the files, and op.
MODELS = {
    "S3": (list(permutations(range(3))), after),
    "A5": (even(5), after),
    "A4_x_Z5": (list(product(even(4), range(5))), lambda a, b: (after(a[0], b[0]), (a[1] + b[1]) % 5)),
    "Z60": (list(range(60)), lambda a, b: (a + b) % 60),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_files_targets_have_the_new_element_on_the_right(name, tmp_path):
    elements, op = MODELS[name]
    group, file = named_group(name), tmp_path / f"{name}=6.csv"
    write_words(file, group, different_words(group, 6, 200, seed=5), seed=5)
    header, *lines = file.read_text().splitlines()
    assert header == "seed,input,target"
    assert len(lines) == 200
    for line in lines:
        seed, word, target = line.split(",")
        assert seed == "5"
        acc = elements[0]
        for x, label in zip(word.split(), target.split(), strict=True):
            acc = op(acc, elements[int(x)])
            assert elements[int(label)] == acc


@pytest.mark.parametrize("name", MODELS)
def test_reading_after_writing_gives_the_words_and_this_projects_targets(name, tmp_path):
    group = named_group(name)
    words = different_words(group, 7, 100, seed=0)
    write_words(tmp_path / "words.csv", group, words)
    batch = read_words(tmp_path / "words.csv", group)
    assert torch.equal(batch.inputs, words)
    assert torch.equal(batch.targets, left_products(group, words))
    before = (tmp_path / "words.csv").read_bytes()
    write_words(tmp_path / "words.csv", group, batch.inputs)
    assert (tmp_path / "words.csv").read_bytes() == before


def test_the_rows_of_the_docstrings_are_what_is_written(tmp_path):
    for word, target, ours in (("3 1 5", "3 2 4", [3, 5, 0]), ("4 4", "4 3", [4, 3])):
        write_words(tmp_path / "words.csv", named_group("S3"), torch.tensor([list(map(int, word.split()))]))
        assert (tmp_path / "words.csv").read_text() == f"seed,input,target\n0,{word},{target}\n"
        assert read_words(tmp_path / "words.csv", named_group("S3")).targets.tolist() == [ours]


def test_all_words_come_in_the_order_of_itertools():
    assert all_words(named_group("S3"), 3).tolist() == [list(word) for word in product(range(6), repeat=3)]


def test_drawn_words_are_different_and_follow_their_seed():
    group = named_group("C2")
    words = different_words(group, 6, 32, seed=0)
    assert len(set(map(tuple, words.tolist()))) == 32
    assert torch.equal(words, different_words(group, 6, 32, seed=0))
    assert not torch.equal(words, different_words(group, 6, 32, seed=1))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the header seed,input,target is wanted, got an empty file"),
        ("length,input\n3,0 1 2\n", "the header seed,input,target is wanted, got length,input"),
        ("seed,input,target\n", "holds no words"),
        ("seed,input,target\n0,3 1 5,3 2 0\n", r"row 1, element 3: op\(acc, x\) is 4, got 0"),
        ("seed,input,target\n0,3 1 5,3 5 0\n", "targets have the new element on the left"),
        ("seed,input,target\n0,3 1 5,4\n", "3 targets per word are wanted, one per element, got 1"),
        ("seed,input,target\n0,3 1 6,3 2 4\n", r"element numbers below 6, are wanted: token 6 is outside 0\.\.5"),
        ("seed,input,target\n0,3 1,3 2\n0,3 1 5,3 2 4\n", "words and targets of one length"),
        ("seed,input,target\n0,a b,c d\n", "words and targets of one length, of element numbers below 6, are wanted"),
        ("seed,input,target\n0\n", "words and targets of one length"),
    ],
)
def test_a_file_that_does_not_fit_is_one_line(tmp_path, content, message):
    file = tmp_path / "wrong.csv"
    file.write_text(content)
    with pytest.raises(ValueError, match=message) as error:
        read_words(file, named_group("S3"))
    assert str(error.value).startswith(str(file))
    assert "\n" not in str(error.value)


def test_too_many_words_are_refused():
    with pytest.raises(ValueError, match=r"60\^10 words are too many or none; ask for a number of samples"):
        all_words(named_group("A5"), 10)
    with pytest.raises(ValueError, match=r"at most half of the 6\^2 words of length 2 are drawn, and at least 1, got 19"):
        different_words(named_group("S3"), 2, 19, seed=0)


def test_a_file_is_a_task_of_its_words(tmp_path):
    group = named_group("A4")
    words = different_words(group, 5, 40, seed=0)
    write_words(tmp_path / "a4.csv", group, words)
    task = WordProblemFile("mine", "A4", str(tmp_path / "a4.csv"))
    parts = {part: task.split(part).examples(5) for part in ("train", "validation", "fresh", "test")}
    assert {part: len(batch.inputs) for part, batch in parts.items()} == {"train": 32, "validation": 4, "fresh": 2, "test": 2}
    together = torch.cat([batch.inputs for batch in parts.values()])
    assert sorted(together.tolist()) == sorted(words.tolist())
    with pytest.raises(ValueError, match="mine: length 6 is not that of the file's words; nearest valid: 5"):
        task.check_length(6)


def test_the_script_writes_and_checks(tmp_path, monkeypatch, capsys):
    def run(*arguments):
        monkeypatch.setattr(sys, "argv", [str(SCRIPT), *arguments])
        monkeypatch.setattr(sys, "path", [str(SCRIPT.parent), *sys.path])
        runpy.run_path(str(SCRIPT), run_name="__main__")

    monkeypatch.chdir(tmp_path)
    run("write", "A5", "4", "A5=4.csv", "--samples", "50", "--seed", "7")
    run("check", "A5", "A5=4.csv")
    assert capsys.readouterr().out == 2 * "A5=4.csv: 50 words of 4 elements of A5; a target is op(acc, x), new element on the right\n"
    with pytest.raises(SystemExit, match=r"^error: .*A5=4\.csv: row 1, element"):
        run("check", "Z60", "A5=4.csv")
