"""The report that docs/ shows is a real sweep's, and says nothing of the machine that made it."""

import re

from mingru.settings import PROJECT

PAGE = (PROJECT / "docs" / "example" / "index.html").read_text(encoding="utf-8")


def test_it_is_the_sweep_that_the_readme_names():
    assert "64 runs of 8 cells: 64 finished." in PAGE
    for mixer in ("log", "signed", "rotation", "givens"):
        assert len(re.findall(rf"<td[^>]*>{mixer}</td>", PAGE)) >= 2 * 8


def test_it_is_one_file_without_machine_paths():
    assert not re.findall(r"(?:src|href)=[\"']?(?!#|data:)[^\"'>\s]*(?:\.js|\.css|\.png)", PAGE)
    assert not re.findall(r"(?:/home/|/root/|/work/|/tmp/|/Users/)", PAGE)
