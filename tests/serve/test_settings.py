"""Settings from a file, the environment and options."""

from __future__ import annotations

import pytest

from worthwhile.serve import Settings


def test_options_weigh_more_than_the_environment_and_that_more_than_the_file(tmp_path):
    path = tmp_path / "serve.yaml"
    path.write_text("port: 1\nhost: '::1'\nmodels: [a.worthwhile]\nrows: 5\n")
    environment = {"WORTHWHILE_SERVE_PORT": "2", "WORTHWHILE_SERVE_STORE": "x.db", "HOME": "y"}
    settings = Settings.read(path, {"store": "z.db", "port": None}, environment)
    assert (settings.port, settings.host, settings.store) == (2, "::1", "z.db")
    assert settings.models == ("a.worthwhile",)
    assert settings.limits.rows == 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prot": 1}, "unknown setting prot: the settings are"),
        ({"port": "many"}, "setting port is 'many': give a whole number > 0"),
        ({"rows": 0}, "setting rows is 0: give a whole number > 0"),
        ({"secure_cookies": "maybe"}, "setting secure_cookies is 'maybe': give true or false"),
    ],
)
def test_settings_that_are_none(options, message):
    with pytest.raises(ValueError, match=message):
        Settings.read(options=options, environment={})


def test_a_file_without_settings(tmp_path):
    path = tmp_path / "serve.yaml"
    path.write_text("- a\n")
    with pytest.raises(ValueError, match="holds no settings"):
        Settings.read(path, environment={})


@pytest.mark.parametrize(
    ("host", "local"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("db", False)],
)
def test_local(host, local):
    assert Settings(host=host).is_local is local


def test_passwords_are_not_shown():
    settings = Settings(store="postgresql://me:secret@db/cases")
    assert "secret" not in repr(settings.shown())
    assert settings.shown()["store"] == "postgresql://me:***@db/cases"
