"""What is shown holds no password, and nothing that a terminal obeys."""

from __future__ import annotations

import pytest

from arboretum.model.shown import masked, masked_values, visible

SECRETS = {
    "postgresql+psycopg://me:s3cret@host:5432/db": "postgresql+psycopg://me:…@host:5432/db",
    "x://me:s/3c:r@et@host/db": "x://me:…@host/db",
    "x://me:1/a@host": "x://me:…@host",
    "x://:s3cret@host": "x://:…@host",
    "mysql://me:5432@host/db": "mysql://me:…@host/db",
    "HTTPS://me:a/b@host/x": "HTTPS://me:…@host/x",
    "https://t0ken@host/x": "https://…@host/x",
    "https://host:80/x?a=1&api_key=abc&y=2": "https://host:80/x?a=1&api_key=…&y=2",
    "postgresql://host/db?user=me&password=abc": "postgresql://host/db?user=me&password=…",
    "tracker.uri=x://me:abc@host failed at once": "tracker.uri=x://me:…@host failed at once",
}
HARMLESS = (
    "http://127.0.0.1:5000",
    "http://host:5000/#/runs?order=a@b",
    "http://host:5000, or mail me@home",
    "sqlite:////lab/a@b.db?timeout=5",
    "postgresql://me@host/db",
    "https://doi.org/10.1000/x?author=me",
    "me:you@home",
)


@pytest.mark.parametrize("text", SECRETS)
def test_secrets_of_addresses_are_left_out(text):
    assert masked(text) == SECRETS[text] == masked(masked(text))
    assert masked_values({"a": [text, 1, None]}) == {"a": [SECRETS[text], 1, None]}


@pytest.mark.parametrize("text", HARMLESS)
def test_what_holds_no_secret_stays(text):
    assert masked(text) == text


def test_control_characters_are_spelled_out_and_letters_stay():
    text = "a\x1b[31mb\x1b]0;title\x07\x9b2J\x7f\r\u202e\u2066\udc80\n\té 中 ▸"
    assert (
        visible(text)
        == "a\\x1b[31mb\\x1b]0;title\\x07\\x9b2J\\x7f\\x0d\\u202e\\u2066\\udc80\n\té 中 ▸"
    )
