"""WfCommons' WfFormat: workflows that were run or generated, with their files and machines."""

from __future__ import annotations

from failgym.traces.readers.counts import Counts
from failgym.traces.readers.json_fields import Fields
from failgym.traces.readers.json_objects import json_objects
from failgym.traces.readers.sources import Paths, find_files, naming_source, reading
from failgym.traces.readers.wfformat.document import read_workflow
from failgym.traces.readers.workflow_tables import WorkflowTables
from failgym.traces.readers.workflows import Workflow
from failgym.traces.schema import TraceError
from failgym.traces.trace import Trace

__all__ = ["read_wfformat"]

CITATION = (
    "T. Coleman, H. Casanova, L. Pottier, M. Kaushik, E. Deelman, R. Ferreira da Silva, WfCommons:"
    " A framework for enabling scientific workflow research and development, FGCS 128, 2022"
)


@naming_source
def read_wfformat(path: Paths, *, progress: bool = False) -> Trace:
    """Read workflows in WfFormat 1.2 to 1.6: one job per workflow, one stage per task.

    Parameters: `path`, a JSON file or a folder of them; a file may hold several workflows.

    A job's `original_id` is the file's name without the suffix, its `name` that of the workflow. A
    stage's name is the task's category, or its name without a number or tag at its end. Edges are
    the dependencies that either of two tasks lists; their bytes are the sizes of the files that
    the parent writes and the child reads, 0 for those of unknown size.

    A task that says when it was executed has one attempt, FINISH, from then on for its run time, or
    CENSORED if that is not known. Of the others only the run time is known: their attempt never
    started, is CENSORED, and has that as `length`. Width is coreCount, rounded up; `mean_cpu` is
    avgCPU of these cores; `max_memory` is memoryInBytes, a fraction of the largest machine's
    memory, or else of the largest task's. Machines have cores and memory; those of one name, cores
    and memory are one machine. All are of speed 1: what an instance states is the clock of the
    moment, of which one node may show several, and run times are as measured. An attempt that ran
    is on the machines that its task names.

    Time 0 is when the first of the workflows with such times was executed; these are submitted when
    they were executed, the others at 0.

    Raises TraceError with file, line and field, also for unknown tasks and such as wait for each
    other.
    """
    files = find_files(path, (".json",), "workflows (WfFormat, .json)")
    counts, found = Counts(), list[Workflow]()
    with reading(files, "workflows", progress) as advance:
        for file in files:
            for line, values in json_objects(file, advance):
                found.append(read_workflow(Fields(file, line, values), counts))
                counts.read("workflows")
    if not found:
        raise TraceError(f"{', '.join(map(str, files))}: no workflow")
    systems = ", ".join(sorted({one.system for one in found if one.system}))
    versions = ", ".join(sorted({one.version for one in found}))
    remarks = {"schemaVersion": versions, "runtimeSystem": systems or "not stated"}
    return WorkflowTables(found, counts, "wfformat", CITATION, remarks).trace()
