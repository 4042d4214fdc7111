"""The page in a real browser, with a phone's width: through to the answer, and through a crash."""

from __future__ import annotations

import shutil
import signal

import pytest

pytest.importorskip("selenium")
pytestmark = pytest.mark.skipif(
    shutil.which("chromedriver") is None, reason="needs Debian's chromium-driver"
)

WIDTH = 390


@pytest.fixture
def driver():
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        f"--window-size={WIDTH},900",
    ):
        options.add_argument(argument)
    metrics = {"width": WIDTH, "height": 844, "pixelRatio": 1}
    options.add_experimental_option("mobileEmulation", {"deviceMetrics": metrics})
    service = webdriver.ChromeService(executable_path=shutil.which("chromedriver"))
    driver = webdriver.Chrome(options=options, service=service)
    driver.set_page_load_timeout(60)
    yield driver
    driver.quit()


@pytest.fixture
def service(model_file, tmp_path):
    from tests.attack.service import Service

    service = Service(model_file, str(tmp_path / "cases.db"), tmp_path)
    service.start()
    yield service
    service.kill(signal.SIGTERM)


def _find(driver, selector):
    from selenium.webdriver.common.by import By

    return driver.find_elements(By.CSS_SELECTOR, selector)


def _go(driver, action):
    """Do something that leads to another page, and wait for it."""
    from selenium.common.exceptions import WebDriverException
    from selenium.webdriver.support import expected_conditions as until
    from selenium.webdriver.support.ui import WebDriverWait

    old = _find(driver, "html")[0]
    action()
    # While the page changes, the driver may know neither the old nor the new one.
    WebDriverWait(driver, 60, ignored_exceptions=[WebDriverException]).until(
        until.staleness_of(old)
    )
    WebDriverWait(driver, 60).until(lambda driver: _find(driver, "main h1"))


def _fits(driver):
    return driver.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")


def _answer(driver, patient):
    from selenium.webdriver.common.keys import Keys

    name = _find(driver, "#ask")[0].text
    field = _find(driver, "#value")[0]
    assert driver.switch_to.active_element == field  # a keyboard is enough
    _go(driver, lambda: field.send_keys(str(patient[name]), Keys.ENTER))


def _say_how_it_came_out(driver):
    from selenium.webdriver.support.ui import Select

    Select(_find(driver, "#truth")[0]).select_by_value("1")
    _go(driver, _find(driver, "form[action$=truth] button")[0].click)
    assert Select(_find(driver, "#truth")[0]).first_selected_option.text == "1"


def test_a_case_on_a_phone_through_a_crash_of_the_service(driver, service, model, heart):
    patient, X = heart.data.iloc[1], heart.data.iloc[[1]]
    driver.get(f"{service.url}/cases/new")
    assert _fits(driver)
    _find(driver, "#label")[0].send_keys("room 17")
    _go(driver, _find(driver, "button")[-1].click)
    assert _fits(driver)
    _answer(driver, patient)
    service.kill()  # at once, between two steps
    service.start()
    driver.refresh()
    driver.back()
    driver.forward()
    for _ in range(30):
        if not _find(driver, "#ask"):
            break
        _answer(driver, patient)
        assert _fits(driver)
    assert _find(driver, ".answer")[0].text == str(model.predict(X)[0])
    total = _find(driver, "tfoot .number")[0].text
    assert float(total) == model.cost(X)[0]
    _say_how_it_came_out(driver)
    for page in ("spend", "promise"):
        driver.get(f"{service.url}/{page}")
        assert _fits(driver)
    assert "Nothing was promised" in _find(driver, "main")[0].text


def test_a_double_click_and_the_back_button_bill_nothing_twice(driver, service, heart):
    from selenium.webdriver import ActionChains

    driver.get(f"{service.url}/cases/new")
    _go(driver, _find(driver, "button")[-1].click)
    case = driver.current_url
    _find(driver, "#value")[0].send_keys("1")
    twice = ActionChains(driver).double_click(_find(driver, "button[value=value]")[0])
    _go(driver, twice.perform)
    driver.get(case)
    lines = len(_find(driver, "[aria-labelledby=bill] tbody tr"))
    assert lines == 1
    driver.back()
    driver.refresh()
    driver.get(f"{service.url}/cases")
    _go(driver, _find(driver, "tbody a")[0].click)
    assert len(_find(driver, "[aria-labelledby=bill] tbody tr")) == lines
