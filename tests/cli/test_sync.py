# SPDX-License-Identifier: Apache-2.0
"""``deja forks, merge, provenance, log, bundle, import-bundle, restore, segments``: two copies on one command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Deja
from tests.support import NOW, shared

VERBS = (
    "forks",
    "merge",
    "provenance",
    "log",
    "bundle",
    "import-bundle",
    "restore",
    "segments push",
    "segments pull",
)


@pytest.fixture
def two(deja: Deja, tmp_path: Path) -> tuple[Path, Path]:
    """Two copies that superseded one fact, each in its own way, and met."""
    one, two = tmp_path / "one.deja", tmp_path / "two.deja"
    base = deja("add", "acme", "region", "eu", "--db", one).out.strip()
    assert deja("bundle", tmp_path / "0.mgb", "--db", one).code == 0
    assert deja("import-bundle", tmp_path / "0.mgb", "--db", two).code == 0
    for path, said in ((one, "eu-west"), (two, "eu-east")):
        statement = f'SUPERSEDE sha256:{base} SET object = "{said}" REASON "moved"'
        assert deja("cal", statement, "--db", path).code == 0
    assert deja("bundle", tmp_path / "1.mgb", "--db", one).code == 0
    assert deja("import-bundle", tmp_path / "1.mgb", "--db", two).code == 0
    return one, two


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_an_example(deja: Deja, verb: str) -> None:
    """Help says what the verb does, and shows one call."""
    done = deja(*verb.split(), "--help")
    assert done.code == 0
    assert f"Example: deja {verb}" in done.out


def test_a_fork_is_listed_and_merged(deja: Deja, two: tuple[Path, Path]) -> None:
    """Both tips, the provisional one first; one address closes it; the reason is kept."""
    _, path = two
    (fork,) = deja("forks", "--db", path, "--format", "json").json["forks"]
    assert [fork["subject"], fork["relation"], len(fork["tips"])] == ["acme", "region", 2]
    shown = deja("forks", "--db", path).out
    assert "* " + fork["tips"][0]["address"][:8] in shown
    merged = deja("merge", fork["tips"][1]["address"][:12], "--because", "ops said so", "--db", path)
    assert merged.code == 0
    (kept,) = deja("recall", "acme", "--db", path, "--format", "json").json["grains"]
    assert kept["address"] == merged.out.strip()
    assert kept["fields"]["merge_reason"] == "ops said so"
    assert kept["fields"]["object"] == fork["tips"][0]["fields"]["object"]
    assert deja("forks", "--db", path).out == "No forks.\n"


def test_a_merge_can_say_something_else(deja: Deja, two: tuple[Path, Path]) -> None:
    """--object is what the merged grain says; a grain that is no tip is refused with a next step."""
    _, path = two
    tips = deja("forks", "--db", path, "--format", "json").json["forks"][0]["tips"]
    addresses = [tip["address"] for tip in tips]
    done = deja(
        "merge", *addresses, "--object", "eu-north", "--because", "new", "--db", path, "--format", "json"
    )
    assert (
        deja("recall", "acme", "--db", path, "--format", "json").json["grains"][0]["fields"]["object"]
        == "eu-north"
    )
    again = deja("merge", done.json["address"], "--because", "again", "--db", path)
    assert (again.code, again.err.split()[0]) == (1, "VAL-E001")
    assert "next: name two or more live grains" in again.err


def test_provenance_shows_both_ways(deja: Deja, two: tuple[Path, Path]) -> None:
    """A grain in the middle of a chain: what it came from, what came of it."""
    _, path = two
    tip = deja("forks", "--db", path, "--format", "json").json["forks"][0]["tips"][0]["address"]
    told = deja("provenance", tip[:10], "--db", path, "--format", "json").json
    assert [step["depth"] for step in told["parents"]] == [1]
    assert told["complete"] is True
    base = told["parents"][0]["address"]
    lines = deja("provenance", base, "--db", path).out.splitlines()
    assert lines[1] == "derived from: nothing"
    assert lines[2] == "led to: 2"


def test_hostile_text_acts_on_no_terminal(deja: Deja, two: tuple[Path, Path], tmp_path: Path) -> None:
    """Escapes, direction marks and markup are shown as text in every list; JSON is ASCII."""
    _, path = two
    evil = "\x1b[31m[bold]\u202e\x07"
    for said in ("a", "b"):
        assert deja("add", f"s{evil}", f"r{evil}", said, "--db", path).code == 0
    grains = deja("recall", f"s{evil}", "--db", path, "--format", "json").json["grains"]
    merged = deja("merge", *(grain["address"] for grain in grains), "--because", f"why{evil}", "--db", path)
    assert merged.code == 0
    for verb in (["log"], ["provenance", merged.out.strip()], ["forks"]):
        for shape in ("text", "json"):
            done = deja(*verb, "--db", path, "--format", shape)
            assert done.code == 0
            assert not {"\x1b", "\u202e", "\x07"} & set(done.out)


def test_the_log_tells_what_changed_since(deja: Deja, two: tuple[Path, Path]) -> None:
    """By position, by time, by subject; what came from the other copy is marked."""
    _, path = two
    everything = deja("log", "--since", "0", "--db", path, "--format", "json").json["changes"]
    assert [change["kind"] for change in everything] == ["add", "supersede", "supersede"]
    assert {change["origin"] for change in everything} == {"imported", "local"}
    last = everything[-1]["seq"]
    assert deja("log", "--since", last, "--db", path).out == "Nothing changed.\n"
    assert deja("log", "--since", "2027-01-01", "--db", path).out == "Nothing changed.\n"
    assert len(deja("log", "--since", NOW - 1, "--db", path).out.splitlines()) == 3
    assert len(deja("log", "--subject", "nobody", "--db", path, "--format", "json").json["changes"]) == 0
    assert len(deja("log", "-k", "1", "--db", path).out.splitlines()) == 1
    assert deja("log", "--since", "some day", "--db", path).err.startswith("VAL-E002")


def test_the_sample_bundle_is_taken_in_once(deja: Deja, tmp_path: Path) -> None:
    """198 grains; a second time nothing is applied; what was passed over is said."""
    path = tmp_path / "a.deja"
    first = deja("import-bundle", shared("vectors/sample.bundle"), "--db", path, "--format", "json")
    assert (first.code, first.json["added"], first.json["complete"]) == (0, 198, True)
    again = deja("import-bundle", shared("vectors/sample.bundle"), "--db", path)
    assert again.out.startswith("254 rows read, 0 applied")
    assert "known already" in again.out
    assert deja("verify", "--db", path).code == 0


def test_a_damaged_bundle_is_told_and_goes_on(deja: Deja, tmp_path: Path) -> None:
    """Exit 1 with what is missing; the whole file then brings the rest; no file and no bundle are coded errors."""
    whole = shared("vectors/sample.bundle").read_bytes()
    bundle, path = tmp_path / "torn.mgb", tmp_path / "a.deja"
    bundle.write_bytes(whole[:50_000])
    torn = deja("import-bundle", bundle, "--db", path)
    assert torn.code == 1
    assert "partial: the file ends inside a row (byte" in torn.out
    bundle.write_bytes(whole)
    done = deja("import-bundle", bundle, "--db", path, "--format", "json")
    assert (done.code, done.json["resumed_at"] > 4) == (0, True)
    flipped = bytearray(whole)
    flipped[120] ^= 1  # inside the bytes of the second row
    bundle.write_bytes(flipped)
    refused = deja("import-bundle", bundle, "--db", tmp_path / "b.deja")
    assert refused.code == 1
    assert "FMT-E003" in refused.out
    assert deja("import-bundle", tmp_path / "none", "--db", path).err.startswith("IMP-E001")
    (tmp_path / "text").write_text("hello")
    assert deja("import-bundle", tmp_path / "text", "--db", path).err.startswith("IMP-E002")


def test_a_bundle_never_replaces_another_file(deja: Deja, two: tuple[Path, Path], tmp_path: Path) -> None:
    """A bundle may be written anew; anything else that lies there stays as it was."""
    one, _ = two
    assert (
        deja("bundle", tmp_path / "1.mgb", "--since", "1", "--db", one, "--format", "json").json["rows"] == 2
    )
    notes = tmp_path / "notes.txt"
    notes.write_text("mine")
    assert deja("bundle", notes, "--db", one).err.startswith("STO-E011")
    assert notes.read_text() == "mine"
    assert deja("bundle", one, "--db", one).err.startswith("STO-E011")


def test_a_memory_is_restored_to_a_new_file(deja: Deja, two: tuple[Path, Path], tmp_path: Path) -> None:
    """Up to a clock of the log; never over a file; the new file says why."""
    _, path = two
    first = deja("log", "--since", "0", "--db", path, "--format", "json").json["changes"][0]
    target = tmp_path / "then.deja"
    done = deja(
        "restore", target, "--until", first["hlc"], "--because", "look", "--db", path, "--format", "json"
    )
    assert (done.code, done.json["grains"]) == (0, 1)
    assert [
        g["fields"]["object"]
        for g in deja("recall", "acme", "--db", target, "--format", "json").json["grains"]
    ] == ["eu"]
    assert deja("verify", "--db", target).code == 0
    again = deja("restore", target, "--until", NOW, "--because", "look", "--db", path)
    assert again.err.startswith("STO-E011")
    spoken = [
        deja("restore", tmp_path / f"{n}.deja", "--until", until, "--because", "x", "--db", path, "--format", "json").json
        for n, until in enumerate(("now", "2 hours ago", "yesterday"))
    ]  # fmt: skip
    assert [bool(told["grains"]) for told in spoken] == [True, False, False]
    assert "\n" in deja("log", "--since", "1 day ago", "--db", path).out
    other = tmp_path / "from-bundle.deja"
    assert deja("restore", other, "--from", tmp_path / "1.mgb", "--until", NOW, "--because", "x").code == 0
    assert deja("restore", tmp_path / "no", "--until", NOW, "--because", " ", "--db", path).err.startswith(
        "LOP-E011"
    )
    assert not (tmp_path / "no").exists()


def test_copies_follow_each_other_through_a_folder(
    deja: Deja, two: tuple[Path, Path], tmp_path: Path
) -> None:
    """Push and pull on both sides; then nothing is new; a damaged segment is told with exit 1."""
    one, other = two
    folder = tmp_path / "shared"
    assert deja("segments", "push", folder, "--db", one).err.startswith("STO-E008")
    folder.mkdir()
    assert deja("segments", "pull", folder, "--db", one).out == "No other copy has pushed here yet.\n"
    pushed = deja("segments", "push", folder, "--db", other, "--format", "json").json
    assert pushed["segments"] == 1
    (followed,) = deja("segments", "pull", folder, "--db", one, "--format", "json").json["copies"]
    assert (followed["segments"], followed["waiting"]) == (1, "")
    assert len(deja("forks", "--db", one, "--format", "json").json["forks"]) == 1
    assert "0 segments, 0 applied" in deja("segments", "pull", folder, "--db", one).out
    (segment,) = folder.glob("*/segment-00000001.mgb")
    segment.write_bytes(segment.read_bytes()[:-1] + b"x")
    hurt = deja("segments", "pull", folder, "--db", tmp_path / "third.deja")
    assert (hurt.code, "DAMAGED" in hurt.out) == (1, True)
