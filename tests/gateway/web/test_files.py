"""The page's files: named by their content, zipped, kept for good, under a strict policy."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from podiumd.gateway.http.exchange import Body, Problem, Request, Response
from podiumd.gateway.http.head import parse_head
from podiumd.gateway.web.files import POLICY, Files, load, needed_at_first

LONG = "/* words */\n" * 100


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "part").mkdir()
    (tmp_path / "index.html").write_text("<html data-release={{release}}>{{modules}}")
    (tmp_path / "app.js").write_text(f'import "./part/one.js";\n{LONG}')
    (tmp_path / "part/one.js").write_text('export {x} from "../two.js";')
    (tmp_path / "two.js").write_text('const later = () => import("./three.js");')
    (tmp_path / "three.js").write_text("")
    (tmp_path / "notes.toml").write_text("not for browsers")
    return tmp_path


def asked(files: Files, path: str, **headers: str) -> Response | None:
    lines = [f"GET {path} HTTP/1.1", "Host: h"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    head = parse_head("\r\n".join([*lines, "", ""]).encode())
    return files.answer(Request(head, Body.__new__(Body), "127.0.0.1"))


def answered(files: Files, path: str, **headers: str) -> Response:
    answer = asked(files, path, **headers)
    assert answer is not None
    return answer


def test_the_page_names_its_release_and_the_modules_that_it_begins_with(site: Path) -> None:
    files = load(site)
    page = answered(files, "/").body.decode()
    names = ["app.js", "part/one.js", "two.js"]
    links = [f'<link rel="modulepreload" href="/w/{files.release}/{name}">' for name in names]
    assert page == f"<html data-release={files.release}>" + "\n".join(links)
    assert dict(answered(files, "/").headers)["Cache-Control"] == "no-cache"


def test_a_file_is_kept_for_good_under_its_release(site: Path) -> None:
    files = load(site)
    answer = answered(files, f"/w/{files.release}/app.js")
    assert "immutable" in dict(answer.headers)["Cache-Control"]
    assert answer.content_type == "text/javascript; charset=utf-8"


@pytest.mark.parametrize("path", ["/w/old/app.js", "/w/{}/../app.js", "/w/{}/notes.toml", "/w/"])
def test_what_is_no_file_of_this_release_is_not_there(site: Path, path: str) -> None:
    files = load(site)
    with pytest.raises(Problem) as refused:
        asked(files, path.format(files.release))
    assert refused.value.status == 404


def test_each_change_of_a_file_is_another_release(site: Path) -> None:
    before = load(site).release
    (site / "two.js").write_text("2")
    changed = load(site).release
    (site / "two.js").rename(site / "four.js")
    assert len({before, changed, load(site).release}) == 3


def test_a_browser_that_takes_zipped_files_gets_them(site: Path) -> None:
    files = load(site)
    path = f"/w/{files.release}/app.js"
    plain, zipped = answered(files, path), answered(files, path, accept_encoding="br, gzip;q=0.9")
    assert gzip.decompress(zipped.body) == plain.body and len(zipped.body) < len(plain.body)
    assert dict(zipped.headers)["Content-Encoding"] == "gzip"
    small = answered(files, f"/w/{files.release}/two.js", accept_encoding="gzip")
    assert "Content-Encoding" not in dict(small.headers)


def test_what_a_browser_has_already_is_not_sent_again(site: Path) -> None:
    files = load(site)
    etag = dict(answered(files, "/").headers)["ETag"]
    again = answered(files, "/", if_none_match=f'"other", {etag}')
    assert (again.status, again.body) == (304, b"")


@pytest.mark.parametrize("path", ["/", "/runs/abc", "/sessions", "/pair"])
def test_a_screen_is_the_page_with_the_policy_of_no_script_but_its_own(
    site: Path, path: str
) -> None:
    headers = dict(answered(load(site), path).headers)
    assert headers["Content-Security-Policy"] == POLICY
    for rule in (
        "default-src 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
    ):
        assert rule in POLICY
    assert "unsafe" not in POLICY and headers["Referrer-Policy"] == "no-referrer"


@pytest.mark.parametrize(
    "path", ["/metrics", "/v1/prompt", "/agui", "/nothing", "/runs.json", "//etc/passwd"]
)
def test_what_is_no_screen_is_for_others_to_answer(site: Path, path: str) -> None:
    assert asked(load(site), path) is None


def test_modules_that_import_each_other_are_named_once() -> None:
    scripts = {"a.js": 'import "./b.js"', "b.js": 'import {a} from "./a.js"; import "./gone.js"'}
    assert list(needed_at_first("a.js", scripts)) == ["a.js", "b.js"]
