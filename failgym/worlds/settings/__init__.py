"""The parts of a scenario: each a record of settings that is valid by itself."""
