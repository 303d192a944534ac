"""The replay engine: compiled traces in, decisions, accounts and outcomes out.

Start reading with `failgym.sim.reference`, which states the rules of the simulated world and
carries them out in plain Python. The kernels do the same fast, one mechanism per file: `pinned` and
`scheduled` hold an engine each, `shared` what both do alike. In the folder of an engine `records`
are the state, `compile` makes arrays of a trace, `attempts`, `checkpoints`, `settlement`,
`accounts`, `decisions` and `observe` say what happens, and `engine` runs them; `batch` and
`simulator` are the ways in.
"""
