"""The pages, as a browser without scripts sees them."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from worthwhile.serve import new_key, open_database


class _Forms(HTMLParser):
    """The forms of a page: their actions and hidden fields."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.forms: dict[str, dict[str, str]] = {}
        self._fields: dict[str, str] | None = None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        if tag == "form":
            self._fields = self.forms.setdefault(values["action"], {})
        elif tag == "input" and self._fields is not None:
            self._fields[values["name"]] = values.get("value") or ""

    def handle_endtag(self, tag):
        if tag == "form":
            self._fields = None


class Browser:
    """Fetches pages and sends their forms."""

    def __init__(self, client) -> None:
        self.client, self.text = client, ""

    def get(self, path):
        response = self.client.get(path)
        self.text = response.text
        return response

    def form(self, end):
        return next((a, dict(f)) for a, f in _Forms(self.text).forms.items() if a.endswith(end))

    def send(self, end, **fields):
        action, hidden = self.form(end)
        return self.post(action, {**hidden, **fields})

    def post(self, action, fields, **how):
        response = self.client.post(action, data=fields, **how)
        self.text = response.text
        return response


@pytest.fixture
def browser(client):
    return Browser(client)


def _open(browser, **fields):
    browser.get("/cases/new")
    response = browser.send("/cases/new", model="heart", label="room 17", **fields)
    assert response.status_code == 200, response.text
    return response


def test_a_case_from_its_opening_to_its_answer(browser, model, heart):
    _open(browser, budget="120,5")
    patient = heart.data.iloc[2]
    for _ in range(20):
        asked = re.search(r'<h2 id="ask">(.*?)</h2>', browser.text)
        if asked is None:
            break
        browser.send("/tell", value=str(patient[asked[1]]).replace(".", ","), how="value")
    X = heart.data.iloc[[2]]
    assert f'<p class="answer">{model.predict(X, budget=120.5)[0]}</p>' in browser.text
    total = re.search(r'total CAD</th><td class="number">(.*?)</td>', browser.text)
    assert float(total[1]) == model.cost(X, budget=120.5)[0]
    assert "Nothing more is worth asking for" in browser.text
    assert "room 17" in browser.get("/cases").text
    assert "By feature" in browser.get("/spend").text


def test_prices_of_today_are_typed_line_by_line(browser):
    _open(browser, prices="cp: 0,25\n\nthal: 3")
    for _ in range(20):
        asked = re.search(r'<h2 id="ask">(.*?)</h2>', browser.text)
        price = re.search(r"<strong>(.*?) CAD</strong>", browser.text)
        if asked is None:
            pytest.fail("cp was not asked for")
        if asked[1] == "cp":
            assert price[1] == "0.25"
            break
        browser.send("/tell", value="", how="unavailable")
    browser.get("/cases/new")
    refused = browser.send("/cases/new", model="heart", prices="cp 3")
    assert refused.status_code == 422
    assert "is no price: write" in refused.text


def test_a_double_click_and_the_back_button_change_nothing(browser):
    _open(browser)
    action, hidden = browser.form("/tell")
    fields = {**hidden, "value": "1", "how": "value"}
    once = browser.post(action, fields).text
    twice = browser.post(action, fields).text
    bill = re.compile(r'<section class="card" aria-labelledby="bill">.*?</section>', re.DOTALL)
    assert bill.search(once)[0] == bill.search(twice)[0]
    back = browser.post(action, {**fields, "value": "2"})
    assert "This step was answered before" in back.text
    assert bill.search(once)[0] == bill.search(back.text)[0]


def test_empty_and_unavailable_are_buttons(browser):
    _open(browser)
    browser.send("/tell", value="", how="empty")
    assert ">bought<" in browser.text
    browser.send("/tell", value="", how="unavailable")
    assert ">unavailable<" in browser.text


@pytest.mark.parametrize("typed", ["", "much", "1,2,3", "1e999"])
def test_what_is_no_number_is_refused_and_kept_in_the_field(browser, typed):
    _open(browser)
    response = browser.send("/tell", value=typed, how="value")
    assert response.status_code == 422
    assert 'role="alert"' in browser.text
    assert f'value="{typed}" autocomplete' in browser.text
    assert "Nothing was bought yet" in browser.text


def test_a_case_can_be_stopped(browser):
    _open(browser)
    browser.send("/stop")
    assert "Stopped early" in browser.text
    assert 'id="ask"' not in browser.text


def test_forms_of_other_sites_are_refused(browser):
    _open(browser)
    action, hidden = browser.form("/tell")
    fields = {**hidden, "value": "1", "how": "value"}
    assert browser.post(action, {**fields, "csrf": "x"}).status_code == 403
    foreign = {"Origin": "http://evil.example"}
    assert browser.post(action, fields, headers=foreign).status_code == 403
    assert browser.post(action, fields).status_code == 200


def test_names_of_cases_are_text_and_nothing_else(browser):
    browser.get("/cases/new")
    browser.send("/cases/new", model="heart", label="<script>alert(1)</script>")
    assert "<script" not in browser.text
    assert "<script" not in browser.get("/cases").text


def test_pages_allow_no_scripts(browser):
    policy = browser.get("/cases").headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'self'")
    assert "style=" not in browser.text


def test_signing_in_and_out(make, store):
    database = open_database(store)
    secret = new_key(database, "ward")
    other = new_key(database, "other")
    browser = Browser(make())
    assert browser.get("/cases").url.path == "/sign-in"
    assert browser.post("/sign-in", {"key": "ww_wrong"}).status_code == 401
    response = browser.post("/sign-in", {"key": secret}, follow_redirects=False)
    cookie = response.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert secret.lower() not in cookie
    _open(browser)
    case = re.search(r"/cases/(case-[^/]+)/tell", browser.text)[1]
    stranger = Browser(make())
    stranger.post("/sign-in", {"key": other})
    assert stranger.get(f"/cases/{case}").status_code == 404
    assert "room 17" not in stranger.get("/cases").text
    browser.get("/cases")
    browser.send("/sign-out")
    assert browser.get("/cases").url.path == "/sign-in"
    database.close()
