"""Mitigation-v1: every measure at once, in a cluster that is loaded.

Description
    Google's jobs on a cluster of their own: machines with slots that fail and come back, a queue by
    priority, and eviction of less important tasks. A clone, a retry or a checkpoint takes slots
    from other tasks; a task that is given up frees them. It combines what El-Sayed et al. (ICDCS
    2017), Rosà et al. (IWQoS 2015) and Kumar et al. (DSN 2020) look at one by one.

Decisions
    WINDOW {CLONE, CHECKPOINT, KILL}: at the start of an attempt and each time its age has grown by
    a quarter. FAILED {KILL = give up, RETRY}. Two extra attempts of a task, one of them a clone. A
    checkpoint and a restore cost 60 s each (Kumar et al., Table VIII); more than 16 checkpoints at
    once slow each other.

Rewards
    Wasted machine-time, and the time of checkpoints and restores. A quarter of a machine-hour for
    an hour until a task has settled, waits included. Four times its machine-time for every task
    that does not finish (`task_value`), whatever the record did, unless its user kills it in the
    end. All tasks that are in the cluster during the episode are charged, those of others as one
    term (`charge="episode"`): an agent that takes their slots pays for their waits. At a price of
    one machine-hour a kill spares others so much that random play lost nothing (2 and 0 points, 12
    slices of two traces, on the profile as it was then).

Forecast
    `Alarms.elsayed_and_rosa()`: risks of attempts in alarms that end, and class confidences of each
    task. On a record (`trace=DIR`) forecasts are learned from the train split.

Load
    The recorded work of the train split is .75 of what the machines could do (`load`), which makes
    a hundred machines of four slots. A machine fails every 16 hours (`machine_mtbf`), more often
    than any of LANL's. This was chosen so that every measure has its use, as with machines that are
    lent for less than a day. All slices of a test split together lose 891 attempts to it, on other
    traces (`trace_seed` 1, 2, 3, 9, 500) 701 to 3,190; at LANL's own rate 14 to 114.

    A slice is 256 tasks. The 256 tasks before them and the 768 after them are in the cluster too.
    So are the tasks that the record ran when the first of these was submitted, with the time that
    they still had to run. If nothing is done utilisation is .73 and the mean wait 6 % of the mean
    run time (`failgym.evaluation.load`); on the other traces it is .74 to .88, and 8 to 73 %.

    An oracle that knew all fates played eight slices of a trace that none of this was chosen on
    (`trace_seed=500`). Of what it saved, kills alone saved 92 % [45, 100], checkpoints 25 [11, 93],
    clones 21 [8, 93], retries 11 [-5, 82] (`experiments.measures_alone`). All of it is 14 % [0, 28]
    of what the bound saves: how far the bound can be reached is unknown.

Fidelity
    Recorded evictions, losses and requeues are not replayed: the cluster makes its own. Attempts
    that they cut short go on as attempts like them did, and so does what the record does not hold
    (`failgym.continued`). Failures of such attempts are not foretold. Machines fail after the law
    of LANL's system 2, but more often; those that are down when the data end are up again from then
    on.

    No task takes more than a day (`longest`), so that load is in balance over a few days of trace;
    5 % of the system's jobs are in it (`sampling`). Jobs come one by one. With recurring
    applications (`google-2011-applications-narrow`) a tenth of the time held 2 to 29 % of the work,
    and no load is in balance. Jobs that run long are killed whole, and other killed tasks run about
    as long as those of their job that finish, as in the record (`failgym trace compare`). After the
    768 followers nothing arrives: a slice's last tasks run in a cluster that empties. Tasks of more
    than 100 attempts and tasks that the end of the data cuts off are background.

Version History
    v1: records go on, tasks have a value, others' waits are charged, forecasts are alarms.
    v0: only the slice's own tasks were charged.
"""

from __future__ import annotations

from failgym.vocabulary import MINUTE, SECOND
from failgym.worlds.scenario import Scenario

__all__ = ["AFTER", "MITIGATION"]

AFTER = "the first three, in one loaded cluster"
"""Whom it is after, in the table of environments."""
MITIGATION = Scenario(
    name="Mitigation-v1",
    world="scheduled",
    order="time",
    trace="google-2011",
    jobs=8_000,
    sampling=0.05,
    longest=24 * 60 * MINUTE,
    load=0.75,
    slots=4,
    outages="lanl-2",
    machine_mtbf=16 * 60 * MINUTE,
    scheduler="priority",
    preemption=True,
    begin=24 * 60 * MINUTE,
    slice_tasks=256,
    warmup=256,
    followers=768,
    beyond_record="continued",
    restarts="record",
    charge="episode",
    clone=True,
    checkpoint=True,
    kill=True,
    give_up=True,
    retry=True,
    max_extra=2,
    max_clones=1,
    decide="geometric",
    checkpoint_cost=60 * SECOND,
    restore_cost=60 * SECOND,
    storage_streams=16,
    forecast="auto",
    task_value=4.0,
    waiting_price=0.25,
)
"""`failgym/Mitigation-v1`."""
