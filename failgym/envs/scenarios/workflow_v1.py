"""Workflow-v1: is this machine worth the risk?

Description
    Ten random workflows of some two hundred tasks arrive at once at a cluster of 32 machines. The
    speed of a machine differs from task to task. Machines fail as those of LANL's system 2 did. A
    task that is ready is offered the free machines in order of earliest finish. A task that runs on
    a machine that fails is lost and starts again. Outputs of tasks on that machine cannot be read
    while it is down. After FLAW ("Failure-aware workflow scheduling in cluster environments",
    Cluster Computing 2010).

Decisions
    DISPATCH {CONTINUE = place, RETRY = pass}: for every free machine in turn. A task that passes
    over all machines is held until the next event, and placed when nothing else can happen.

Rewards
    Completion time of the workflows, on the scale of their critical paths; and the work that
    failures destroy, on the scale of a task's.

Forecast
    Predictions of machine failures with an accuracy AOA of .7, half of the errors false positives
    (FLAW, section V-B: .5 to .9). They say whether the machine fails before the task would be done.

Fidelity
    Ready tasks are ranked by RANK_HYBD (Yu and Shi 2008). Transfers depend on where the parents
    ran, and a transfer that is under way dies with its source. Run times on each machine are known
    beforehand, to the scheduler and to the agent. Two slices share no machine time: they are two
    months apart. Workflows are made up; outages follow the record's law. The cluster notices a
    failure at once. Machines that are down when the data end are up again from then on.

Version History
    v1: as v0; the version follows that of the other environments.
"""

from __future__ import annotations

from failgym.worlds.scenario import Scenario

__all__ = ["AFTER", "WORKFLOW"]

AFTER = "FLAW 2010: which of the free machines to trust"
"""Whom it is after, in the table of environments."""
WORKFLOW = Scenario(
    name="Workflow-v1",
    world="scheduled",
    order="time",
    trace="lanl-2",
    jobs=240,
    inner_boundary=0.5,  # of 17 slices, 8 to choose a model by: 5 would decide nothing
    slice_jobs=10,
    scheduler="rank_hybd",
    place=True,
    outputs="kept",
    transfer_bandwidth=125_000.0,
    completion="jobs",
    node_forecast="calibrated",
    node_accuracy=0.7,
    node_false_positives=0.5,
    weight_wasted=1.0,
    weight_overhead=0.0,
    weight_completion=1.0,
    weight_forfeited=1.0,
)
"""`failgym/Workflow-v1`."""
