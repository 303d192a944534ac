"""A sample of `fuzz_commands`: an import is a trace or one line, and destroys nothing."""

from __future__ import annotations

from tests.traces.readers.fuzz_commands import Commands


def test_imports_end_with_a_trace_or_one_line_and_destroy_nothing() -> None:
    commands = Commands(seed=1, mounted=False, as_root=False)
    tally = commands.run(range(24))
    assert not tally.failures, "\n".join(tally.failures[:3])
    assert tally.commands["new"] > 8
    assert tally.commands["trace info"] > 4
    assert tally.commands["foreign"] > 0
