"""Kaplan-Meier curves of lifelines, kept in `tests/data/continued/lifelines.json`.

    pip install lifelines
    python tests/continued/lifelines_curves.py

lifelines asks for an older pandas than failgym is developed with, so its curves are kept here and
it is not installed beside failgym. Rows of many ties, some of which enter late; no moment at which
all that are at risk end though others enter later, which lifelines treats otherwise.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

FILE = Path(__file__).parents[1] / "data" / "continued" / "lifelines.json"


def main() -> None:
    """Write the file."""
    import lifelines  # pyright: ignore

    made: list[dict[str, Any]] = []
    rng = np.random.default_rng(2026)
    for rows, late, span in ((40, False, 30), (300, False, 100), (60, True, 40), (500, True, 200)):
        time = np.ceil(rng.gamma(1.2, span / 3.0, rows)).astype(int).clip(1, span)
        event = rng.random(rows) < 0.6
        entered = rng.integers(0, time) * (rng.random(rows) < 0.4) if late else np.zeros(rows, int)
        fitter = lifelines.KaplanMeierFitter()  # pyright: ignore
        fitter.fit(time, event, entry=entered if late else None)  # pyright: ignore
        at = np.unique(time[event])
        made.append(
            {
                "time": time.tolist(),
                "event": event.astype(int).tolist(),
                "entered": entered.tolist(),
                "at": at.tolist(),
                "share": (1.0 - fitter.survival_function_at_times(at)).tolist(),  # pyright: ignore
            }
        )
    version = lifelines.__version__  # pyright: ignore
    FILE.write_text(json.dumps({"made_with": f"lifelines {version}", "curves": made}) + "\n")


if __name__ == "__main__":
    main()
