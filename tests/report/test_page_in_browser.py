"""The page in a real browser: it renders, sorts, filters, opens runs, and says nothing on the console."""

from __future__ import annotations

import random

import pytest

from mingru.report import assemble
from mingru.report.runs import local
from tests.report.synthetic import config, failure, outcome, started, write

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    outputs = tmp_path_factory.mktemp("outputs")
    fits = random.Random(0)
    for task in ("s3_hier", "parity"):
        for mixer, rate in (("givens", 0.7), ("delta", 0.3), ("log", 0.0), ("signed", 1.0)):
            for seed in range(8):
                chosen = config(mixer, task, seed)
                write(outputs, started(chosen), outcome(chosen, fits.random() < rate))
    lost = config("gru", "parity", 0)
    (write(outputs, started(lost), failure("<b>boom</b>")) / "train.log").write_text("the last <i>line</i>\n")
    assemble.report(local.read(outputs), assemble.Request(outputs / "report", outputs / "report" / "report.md"))
    return outputs / "report" / "index.html"


@pytest.fixture(scope="module")
def driver():
    from tests.report.chromium import browser

    with browser() as started_browser:
        yield started_browser


@pytest.fixture
def opened(driver, page):
    driver.get(page.as_uri())
    yield driver
    assert driver.get_log("browser") == []


def script(driver, text, *arguments):
    return driver.execute_script(text, *arguments)


SHOWN = "[...document.querySelectorAll('#table-summary tbody tr')].filter(row => !row.hidden)"
COLUMN = f"return {SHOWN}.map(row => row.cells[arguments[0]].textContent)"


def rate(text):
    fits, n = text.split("/")
    return int(fits) / int(n)


def test_the_summary_comes_first_and_the_pictures_are_drawn(opened):
    assert script(opened, "return document.querySelector('main section h2').textContent") == "Summary"
    assert script(opened, "return document.querySelectorAll('svg').length") == 12
    assert script(opened, "return [...document.querySelectorAll('svg')].every(s => s.getBoundingClientRect().height > 60)")


def test_a_click_sorts_by_value_and_another_one_back(opened):
    header = opened.find_elements("css selector", "#table-summary th button")[2]
    header.click()
    fits = script(opened, COLUMN, 2)
    assert fits[-1] == "no data"
    assert [rate(text) for text in fits[:-1]] == sorted(rate(text) for text in fits[:-1])
    header.click()
    fits = script(opened, COLUMN, 2)
    assert fits[-1] == "no data"
    assert [rate(text) for text in fits[:-1]] == sorted((rate(text) for text in fits[:-1]), reverse=True)


def test_the_filter_keeps_rows_with_every_word(opened):
    field = opened.find_element("id", "filter")
    field.send_keys("Parity delta")
    assert script(opened, COLUMN, 1) == ["delta"]
    assert script(opened, "return document.querySelectorAll('table.runs tbody tr:not([hidden])').length") == 8
    field.clear()
    field.send_keys(" ")
    assert len(script(opened, COLUMN, 1)) == 9


def test_a_run_opens_with_its_config_log_and_provenance_as_text(opened):
    script(opened, "[...document.querySelectorAll('table.runs tbody tr')].find(r => r.textContent.includes('gru')).click()")
    text = script(opened, "return document.querySelector('tr.opened').textContent")
    for part in ('"lr": 0.003', "the last <i>line</i>", "failure: <b>boom</b>", "code: "):
        assert part in text
    script(opened, "document.querySelector('tr.opened').previousElementSibling.click()")
    assert script(opened, "return document.querySelector('tr.opened')") is None


def test_the_exports_open(opened):
    script(opened, "document.querySelector('#table-summary details').open = true")
    text = script(opened, "return document.querySelector('#table-summary details pre').textContent")
    assert text.splitlines()[0] == "task and length,mixer,fits,95 % interval,lost,longest,mean score there"


@pytest.mark.parametrize("width", [400, 1600])
def test_the_page_is_no_wider_than_the_screen(opened, page, width):
    from tests.report.chromium import resize

    resize(opened, width)
    opened.get(page.as_uri())
    assert script(opened, "return document.documentElement.scrollWidth") <= width
    smallest = "return Math.min(...[...document.querySelectorAll('td, p')].map(e => parseFloat(getComputedStyle(e).fontSize)))"
    assert script(opened, smallest) >= 12
