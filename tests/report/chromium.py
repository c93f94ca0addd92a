"""A headless Chromium; installed from Debian where it is missing, as the `browser` mark says."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests import packages

if TYPE_CHECKING:
    from selenium import webdriver

PACKAGES = ("chromium", "chromium-driver")


def install() -> None:
    packages.install("selenium", "selenium>=4.25")
    if shutil.which("chromium") and shutil.which("chromedriver"):
        return
    subprocess.run(["apt-get", "update", "-qq"], check=True)
    subprocess.run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", *PACKAGES], check=True, stdout=subprocess.DEVNULL)


@contextmanager
def browser() -> Iterator[webdriver.Chrome]:
    install()
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        yield driver
    finally:
        driver.quit()


def resize(driver: webdriver.Chrome, width: int) -> None:
    """The width of the page itself; a window cannot be made as narrow as a phone."""
    metrics = {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": width < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
