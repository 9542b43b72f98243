"""Audits of a domain, from the command line and from a file."""

SOURCE = """
def noisy_sum(data, rng):
    return float(sum(data)) + rng.laplace(scale=0.5)
"""


def test_the_command_line_takes_a_domain(tmp_path, monkeypatch, dpaudit):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(SOURCE)
    words = ("audit", "mine.py:noisy_sum", "--domain", "bounds=[0,1]", "--domain", "records=6")
    ended = dpaudit(*words, "--relation", "replace-record", "--epsilon", "1", "--trials", "2000")
    assert ended.status == 1, ended.err
    assert "refuted" in ended.out


def test_a_file_of_audits_takes_a_domain_of_a_table(tmp_path, monkeypatch, dpaudit):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(
        "def count(t, rng):\n    return (t['age'] > 65).sum() + rng.laplace(scale=0.5)\n"
    )
    (tmp_path / "a.toml").write_text(
        '[audit]\nmechanism = "mine:count"\nrelation = "add-remove-record"\nepsilon = 1.0\n'
        "trials = 2000\n[audit.domain]\nrecords = [1, 4]\n"
        'columns.age = {type = "integer", minimum = 0, maximum = 120}\n'
    )
    assert dpaudit("audit", "a.toml").status == 1


def test_a_replay_takes_a_domain_and_refuses_neither(tmp_path, monkeypatch, dpaudit):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(SOURCE)
    words = ("replay", "mine:noisy_sum", "--relation", "replace-record", "--epsilon", "1")
    assert dpaudit(*words, "--domain", "bounds=[0,1]", "--domain", "records=3").status == 1
    refused = dpaudit(*words)
    assert refused.status == 2
    assert "dataset" in refused.err


def test_a_word_of_a_domain_that_says_no_means_it_and_one_that_says_nothing_is_refused(
    tmp_path, monkeypatch, dpaudit
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(
        "import math\n\ndef missing(data):\n    return sum(math.isnan(one) for one in data)\n"
    )
    words = ("sensitivity", "mine.py:missing", "--domain", "bounds=[0,1]", "--domain", "records=3")
    words = (*words, "--relation", "replace-record", "--claimed", "0.5", "--domain")
    for word, status in (("no", 0), ("False", 0), ("yes", 1), ("perhaps", 2), ("1", 2)):
        ended = dpaudit(*words, f"missing={word}")
        assert ended.status == status, (word, ended.err)
        assert ("expected true or false" in ended.err) == (status == 2)
