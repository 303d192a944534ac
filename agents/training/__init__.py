"""An agent is trained: from its hyper-parameters to a policy file, and on after an interruption."""

from __future__ import annotations
