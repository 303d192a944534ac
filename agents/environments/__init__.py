"""What agents learn in: batched environments, rewards to train on, and which tasks are met."""

from __future__ import annotations
