"""The code of the README runs as it stands."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"


@pytest.mark.skipif(not README.exists(), reason="the tests run outside the repository")
def test_the_code_of_the_readme_runs(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)
    assert len([line for line in code.splitlines() if line.strip()]) <= 10
    exec(compile(code, str(README), "exec"), {})
    score = re.search(r"R\^2 of their feature (\S+)", capsys.readouterr().out)
    assert float(score.group(1)) > 0.999
