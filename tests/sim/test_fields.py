"""The order of the observation's fields, where code goes by it."""

from __future__ import annotations

from itertools import groupby

from failgym.sim.shared.fields import FIELDS, MASK
from failgym.vocabulary import Action


def test_the_fields_of_a_group_stand_together() -> None:
    groups = [group for group, _ in groupby(field.group for field in FIELDS)]
    assert len(groups) == len(set(groups))


def test_the_mask_has_a_field_for_each_action_in_their_order() -> None:
    named = [f"may_{action.name.lower()}" for action in Action]
    assert [field.name for field in FIELDS[MASK]] == named
