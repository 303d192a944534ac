"""From a scenario to a compiled world."""
