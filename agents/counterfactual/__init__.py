"""Learning from what every answer would have cost: exact gains of actions, and trees that tell them."""
