"""From a scenario to a compiled scheduled world."""
