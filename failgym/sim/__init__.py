"""The replay engine: compiled traces in, decisions, accounts and outcomes out.

Start reading with `failgym.sim.reference`, which states the rules of the simulated world and
carries them out in plain Python. The kernels do the same fast, one mechanism per file: `records`
(the state), `compile` (a trace into arrays), `events` (the calendar), `attempts`, `checkpoints`,
`settlement`, `accounts`, `decisions`, `observe`, and `engine`, which runs them. `batch` and
`pinned` are the ways in.
"""
