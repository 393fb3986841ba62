"""Files of an address, as given by a server of this test on 127.0.0.1; no other is asked."""

from __future__ import annotations

import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import attrs
import pytest

import arboretum
from arboretum.api import ConfigError, DataError
from arboretum_data import fetched, home as homes
from arboretum_data.fetched import fetch_file
from arboretum_data.file import FileDataset
from arboretum_data.named import canonical, component_of
from arboretum_data.reading.build import TaskChoice

TABLE = b"x,months,died\n1,3,1\n2,5,0\n3,8,1\n"
SUM = hashlib.sha256(TABLE).hexdigest()


class Site:
    """What is given, by path, and how often it was asked for."""

    def __init__(self):
        self.files = {"/rows.csv": TABLE}
        self.asked = []
        self.cut = 0
        self.root = ""


@pytest.fixture
def site(no_home):
    """A running site."""
    pages = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            pages.asked.append(self.path)
            body = pages.files.get(self.path.partition("?")[0])
            self.send_response(404 if body is None else 200)
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write((body or b"")[: -pages.cut or None])

        def log_message(self, *args):
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    pages.root = f"http://127.0.0.1:{server.server_port}"
    serve = {"poll_interval": 0.01}
    thread = threading.Thread(target=server.serve_forever, kwargs=serve, daemon=True)
    thread.start()
    yield pages
    server.shutdown()
    server.server_close()
    thread.join()


def of(site, **fields):
    return FileDataset(
        **{"path": f"{site.root}/rows.csv", "target": "months", "event": "died", **fields}
    )


def test_a_file_of_an_address_is_fetched_once_and_kept(site, no_home):
    table = of(site, sha256=SUM).load(0)
    assert (table.name, table.n_rows) == ("rows", 3)
    assert table.role("event").tolist() == [1, 0, 1]
    assert of(site, sha256=SUM.upper()).load(0).sha256() == table.sha256()
    assert site.asked == ["/rows.csv"]
    kept = [path for path in no_home.rglob("*") if path.is_file()]
    assert kept == [no_home / "fetched" / SUM / "rows.csv"]


def test_a_run_takes_an_address_in_place_of_a_path(site):
    words = ["dataset=file", f"dataset.path={site.root}/rows.csv", f"dataset.sha256={SUM}"]
    words += ["dataset.target=months", "dataset.event=died", "split=none", "method=cart"]
    assert arboretum.run(words).data["n_rows"] == 3


def test_without_a_checksum_the_refusal_says_the_one_that_is_there(site, no_home):
    with pytest.raises(ConfigError, match=f"what it gives now has dataset.sha256={SUM}"):
        of(site).load(0)
    assert [path for path in no_home.rglob("*") if path.is_file()] == []


def test_another_content_is_refused_and_not_kept(site, no_home):
    site.files["/rows.csv"] = TABLE.replace(b"8", b"9")
    with pytest.raises(DataError, match=rf"another content \(sha256 \w{{64}}; expected {SUM}\)"):
        of(site, sha256=SUM).load(0)
    assert [path for path in no_home.rglob("*") if path.is_file()] == []


def test_a_copy_that_was_changed_is_refused(site, no_home):
    of(site, sha256=SUM).load(0)
    kept = no_home / "fetched" / SUM / "rows.csv"
    kept.write_bytes(TABLE[:-1])
    with pytest.raises(DataError, match="rows.csv holds another content .* delete it to have it"):
        of(site, sha256=SUM).load(0)


def test_a_file_of_ones_own_has_the_checksum_that_is_said(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes(TABLE)
    assert FileDataset(path=str(path), target="months", sha256=SUM).load(0).n_rows == 3
    with pytest.raises(DataError, match="holds another content .* say dataset.path=FILE of the"):
        FileDataset(path=str(path), target="months", sha256="0" * 64).load(0)
    with pytest.raises(ConfigError, match="dataset.sha256 must be 64 hexadecimal digits; got"):
        FileDataset(path=str(path), target="months", sha256="12ab").load(0)
    with pytest.raises(DataError, match="absent.csv: cannot be read"):
        FileDataset(path=str(tmp_path / "absent.csv"), target="x", sha256=SUM).load(0)


@pytest.mark.parametrize("sha256", ["", "12ab", "g" * 64, SUM + "0"])
def test_what_is_no_checksum_is_refused(sha256, site):
    with pytest.raises(ConfigError, match="dataset.sha256 must be 64 hexadecimal digits; got"):
        of(site, sha256=sha256).load(0)
    assert site.asked == []


@pytest.mark.parametrize("place", ["me:secret@127.0.0.1/rows.csv", "me@127.0.0.1/x.csv", "/x.csv"])
def test_an_address_that_would_tell_a_password_is_refused(place):
    with pytest.raises(ConfigError, match="names a machine, and neither a user nor") as told:
        fetch_file(f"https://{place}", SUM, None)
    assert "secret" not in str(told.value)


def test_a_name_is_made_of_plain_letters(site, no_home):
    site.files["/some%20dir/r%C3%B6ws%2F..csv"] = TABLE
    kept = fetch_file(f"{site.root}/some%20dir/r%C3%B6ws%2F..csv?x=1", SUM, no_home)
    assert (kept.parent.parent, kept.name) == (no_home / "fetched", "csv")


def test_what_is_not_there_is_told_with_its_status(site):
    with pytest.raises(DataError, match=r"gone.csv is not given: it answers 404 .*dataset.path=FI"):
        of(site, path=f"{site.root}/gone.csv", sha256=SUM).load(0)


def test_an_answer_that_breaks_off_is_told(site):
    site.cut = 5
    with pytest.raises(DataError, match="ended after 27 of 32 bytes; start again"):
        of(site, sha256=SUM).load(0)


def test_without_a_network_the_error_says_so(no_home):
    # the discard port: nobody listens
    with pytest.raises(DataError, match=r"cannot be reached \([^\n]+\); fetch it where there is"):
        FileDataset(path="http://127.0.0.1:9/rows.csv", target="x", sha256=SUM).load(0)


@pytest.fixture
def public(site, monkeypatch):
    """``dataset=whas500``, with the site in place of its address."""
    known = FileDataset(
        path=str(_written()), target="months", event="died", task=TaskChoice.regression
    ).load(0)
    entry = attrs.evolve(
        homes.ENTRIES["whas500"],
        rows=3,
        sha256=known.sha256(),
        address=f"{site.root}/rows.csv",
        file_sha256=SUM,
        reading={"target": "months", "event": "died"},
    )
    monkeypatch.setitem(homes.ENTRIES, "whas500", entry)
    return entry


def _written():
    path = homes.data_home() / "known.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(TABLE)
    return path


def test_a_public_set_comes_from_its_address_with_what_rows_say(public, site):
    table = component_of("whas500")().load(0)
    assert (table.name, table.is_regression) == ("whas500", True)
    assert table.role("event").tolist() == [1, 0, 1]
    assert canonical("whas500").sha256() == public.sha256
    assert site.asked == ["/rows.csv"]


TRIAL = b"train,age,re78,lre78\n" + b"".join(
    b"%d,%d,%d.5,0\n" % (k % 2, 20 + k % 7, (k % 2) * (k % 7 > 3) + k % 3) for k in range(60)
)


def test_a_public_trial_comes_with_its_treatment_and_outcome(site, monkeypatch, tmp_path):
    """``dataset=nsw``, with the site in place of its address, and a table of the same columns."""
    site.files["/jtrain2.csv"] = TRIAL
    entry = homes.ENTRIES["nsw"]
    assert entry.reading["treatment"] == "train" and entry.reading["outcome"] == "re78"
    # what was measured after the training tells its outcome
    assert {"lre78", "unem78", "mostrn"} <= set(entry.reading["ignore"])
    reading = {**entry.reading, "ignore": ["lre78"]}
    (path := tmp_path / "nsw.csv").write_bytes(TRIAL)
    known = attrs.evolve(FileDataset(path=str(path), **reading).load(0), name="nsw")
    here = {"address": f"{site.root}/jtrain2.csv", "reading": reading, "rows": known.n_rows}
    sums = {"sha256": known.sha256(), "file_sha256": hashlib.sha256(TRIAL).hexdigest()}
    monkeypatch.setitem(homes.ENTRIES, "nsw", attrs.evolve(entry, **here, **sums))
    table = component_of("nsw")().load(0)
    assert table.target.classes == ("0", "1") and [c.name for c in table.columns] == ["age"]
    assert table.role("outcome").tolist() == known.role("outcome").tolist()
    run = ["dataset=nsw", "split=none", "method=policy_tree", "stopping.standard.max_depth=1"]
    record = arboretum.run([*run, "encoder=midpoints"])
    assert record.data["n_rows"] == 60 and record.verified
    assert site.asked == ["/jtrain2.csv"]
    # another table under the same name is refused, whatever its file's checksum says
    other = attrs.evolve(homes.ENTRIES["nsw"], sha256="0" * 64)
    monkeypatch.setitem(homes.ENTRIES, "nsw", other)
    with pytest.raises(DataError, match=r"'nsw': http.* holds another content \(60 rows"):
        component_of("nsw")().load(0)


def test_a_public_set_that_cannot_be_fetched_says_where_it_was_looked_for(monkeypatch, no_home):
    monkeypatch.setattr(fetched, "TIMEOUT_SECONDS", 0.5)
    entry = attrs.evolve(homes.ENTRIES["gbsg2"], address="http://127.0.0.1:9/GBSG2.arff")
    monkeypatch.setitem(homes.ENTRIES, "gbsg2", entry)
    with pytest.raises(DataError, match=r"'gbsg2' is not in the data home .*cannot be reached"):
        component_of("gbsg2")().load(0)


def test_addresses_of_public_sets_are_fixed_and_have_checksums():
    for entry in homes.ENTRIES.values():
        if entry.address:
            assert entry.address.startswith("https://")
            assert len(entry.file_sha256) == 64
            assert len({"target", "treatment"} & entry.reading.keys()) == 1
