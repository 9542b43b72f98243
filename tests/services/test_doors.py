"""Services at the doors that take a mechanism: a file of audits, and the fixture of pytest."""

import json

import pytest

from dpaudit.cli.main import main
from tests.services.servers import Laplace, serving

pytest_plugins = "pytester"
pytestmark = pytest.mark.slow
RIGHT, BROKEN = 1.0, 0.1

AUDIT = """
[[audit]]
url = "{url}/count?of={{dataset}}"
dataset = "with"
neighbour = "without"
fresh = "query:nonce"
epsilon = 1.0
trials = 100
"""

SUITE = """
    import pytest
    from dpaudit import Service

    @pytest.mark.dp(epsilon=1, trials=100, fresh="query:nonce")
    @pytest.mark.parametrize("url", [{right!r}, {broken!r}], ids=["right", "broken"])
    def test_count(dp_audit, url):
        dp_audit(Service(url + "/count?of={{dataset}}"), "with", "without")
"""


@pytest.fixture
def urls():
    with serving(Laplace(RIGHT)) as right, serving(Laplace(BROKEN)) as broken:
        yield right.url, broken.url


def test_a_file_of_audits_judges_each_of_its_services(urls, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "privacy.toml").write_text("".join(AUDIT.format(url=url) for url in urls))
    with pytest.raises(SystemExit) as ended:
        main(["audit", "privacy.toml", "--out", "report", "--no-store", "--quiet"])
    assert ended.value.code == 1
    results = json.loads((tmp_path / "report" / "report.json").read_text())["results"]
    assert [one["verdict"] for one in results] == ["not refuted", "refuted"]


def test_a_test_fails_where_its_service_is_broken(urls, pytester):
    right, broken = urls
    pytester.makepyfile(test_own=SUITE.format(right=right, broken=broken))
    done = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    done.assert_outcomes(passed=1, failed=1)
    done.stdout.fnmatch_lines(["FAILED test_own.py::test_count?broken?*"])
