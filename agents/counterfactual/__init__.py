"""Learning from what every answer would have cost: trees that tell which one saves."""
