"""Lineage-v1: which outputs are worth writing down?

Description
    An in-memory data-analytics job is a graph of stages of parallel tasks, and has its machines to
    itself. The output of a task stays in the memory of the machine that made it. At one moment of
    the run a quarter of the machines fail. Outputs that they held and that others still need are
    recomputed, recursively, back to what was written to stable storage. After PANDA (Ghit and
    Epema, "Better safe than sorry", HPDC 2017).

Decisions
    OUTPUT {CHECKPOINT}: a task has finished and others need its output. The task keeps its slot
    while the output is written.

Rewards
    Completion time of the job, on the scale of its critical path. A thousandth of the machine-time
    that is lost or goes into writing, on the scale of a task's: a job has some thousand tasks.

Forecast
    None: it is not known which machines fail, or when.

Fidelity
    A quarter of a job's machines fail, at a uniform moment of its undisturbed run, the same for
    every policy (`failed_share`, `failed_at`). They are replaced after 60 s, when six heartbeats of
    10 s are missing (section 2.2). Jobs have 20 machines of 16 slots, PageRank and KMeans 5 (Table
    3). What a stage of PageRank reads at its own positions, made one iteration before, is
    unpersisted once read, as GraphX does. So a recomputation repeats all steps back to what was
    written. Stable storage takes twelve writes of 100 MB/s at once, and more of them slow each
    other. This was chosen so that, undisturbed, no policy of the paper takes a tenth longer (Fig.
    7c). `checkpoint_cost` and `mtbf` are inputs of PERIODIC: its interval is 190 s. Reading is
    free, wherever an output is.

Version History
    v1: as v0; the version follows that of the other environments.
"""

from __future__ import annotations

from failgym.vocabulary import MINUTE, SECOND
from failgym.worlds.scenario import Scenario

__all__ = ["AFTER", "LINEAGE"]

AFTER = "PANDA 2017: which outputs to save from a failure of machines"
"""Whom it is after, in the table of environments."""
LINEAGE = Scenario(
    name="Lineage-v1",
    world="scheduled",
    order="time",
    trace="panda-das",
    jobs=40,
    inner_boundary=0.5,  # of 28 jobs, 14 to choose a model by: 8 would decide nothing
    slice_jobs=1,
    job_machines=(("PageRank", 5), ("KMeans", 5)),
    outages="none",
    failed_share=0.25,
    scheduler="fifo",
    save_outputs=True,
    outputs="lost",
    unpersist=True,
    detection_delay=60 * SECOND,
    storage_streams=12,
    storage_bandwidth=100_000.0,
    checkpoint_cost=10 * SECOND,
    mtbf=30 * MINUTE,
    completion="jobs",
    weight_wasted=0.001,
    weight_overhead=0.001,
    weight_completion=1.0,
    weight_forfeited=1.0,
)
"""`failgym/Lineage-v1`."""
