"""What README.md promises holds: its Python runs, its commands name extras that exist, its links lead somewhere."""

import re
import tomllib

import pytest
from sources import ROOT

README = (ROOT / "README.md").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
REPOSITORY = "https://github.com/arraygrad/arraygrad/blob/main/"
SNIPPETS = re.findall(r"^```python\n(.*?)^```$", README, flags=re.M | re.S)
COMMANDS = re.findall(r"^```sh\n(.*?)^```$", README, flags=re.M | re.S)


def test_readme_has_python():
    assert SNIPPETS


@pytest.mark.parametrize("snippet", SNIPPETS, ids=lambda text: text.splitlines()[0])
def test_python_in_readme_runs(snippet, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(snippet, "README.md", "exec"), {"__name__": "__main__"})


def test_first_example_learns_what_made_its_data():
    names = {"__name__": "__main__"}
    exec(compile(SNIPPETS[0], "README.md", "exec"), names)
    assert names["value"] < 1e-4
    assert abs(names["w"] - [0.5, -1.0, 2.0]).max() < 0.05
    # d/dx sum(exp(x)) = exp(x)
    assert abs(names["x"].grad.numpy() - [1.6487212707, 2.1170000166]).max() < 1e-9


def test_readme_has_the_three_one_line_commands():
    assert [command.count("\n") for command in COMMANDS] == [1, 1, 1]
    clone, demo, tests = COMMANDS
    assert clone == f"git clone {PROJECT['urls']['Source']} && cd arraygrad\n"
    start = "python3 -m venv .venv && .venv/bin/pip install "
    assert demo.startswith(start)
    assert demo.endswith("-m arraygrad demo\n")
    assert tests.startswith(start)
    assert tests.endswith("-m pytest -n 2 --dist loadfile\n")


def test_extras_named_in_readme_exist():
    named = {extra for group in re.findall(r"'\.\[([^\]]+)\]'", README) for extra in group.split(",")}
    assert named
    assert named <= set(PROJECT["optional-dependencies"])


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)#]+)", README))
def test_links_in_readme_are_absolute_and_lead_to_files(link):
    assert link.startswith("https://")  # PyPI shows the page without the repository around it
    if link.startswith(REPOSITORY):
        assert (ROOT / link.removeprefix(REPOSITORY)).exists()
