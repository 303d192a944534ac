"""Pegasus' abstract workflows (DAX), in XML: those of its workflow generator, for one."""

from __future__ import annotations

from failgym.traces.readers.counts import Counts
from failgym.traces.readers.dax.document import read_workflow
from failgym.traces.readers.sources import Paths, find_files, naming_source, reading
from failgym.traces.readers.workflow_tables import WorkflowTables
from failgym.traces.trace import Trace

__all__ = ["read_dax"]

CITATION = (
    "G. Juve, A. Chervenak, E. Deelman, S. Bharathi, G. Mehta, K. Vahi: Characterizing and"
    " profiling scientific workflows, FGCS 29(3), 2013"
)


@naming_source
def read_dax(path: Paths, *, progress: bool = False) -> Trace:
    """Read workflows in Pegasus' DAX 2 and 3: one job per workflow, one stage per task.

    Parameters: `path`, an XML file (`.xml`, `.dax`) with one workflow, or a folder of them.

    A job's `original_id` is the file's name without the suffix, its `name` that of the workflow. A
    task is a `job` (or `dag`, `dax`: a workflow within) of one slot; its stage's name is the job's
    name, the transformation. Edges are those of `child` and `parent`; their bytes are the sizes of
    the files that the parent writes and the child reads (`uses`, link output or input; inout is
    both), 0 for those of unknown size. What the writer says of a size counts.

    Run times are those of the attribute `runtime`, else of the profile `runtime` of Pegasus, in
    seconds. Nothing is told of when tasks ran: their attempt never started, is CENSORED, and has
    the run time as `length`. All workflows are submitted at time 0.

    Raises TraceError with file and line, and the field: what is no XML, or has a document type
    (entities are not expanded); unknown tasks, and such as wait for each other.
    """
    files = find_files(path, (".xml", ".dax"), "workflows (Pegasus DAX: .xml, .dax)")
    counts = Counts()
    with reading(files, "workflows", progress) as advance:
        found = [read_workflow(file, counts, advance) for file in files]
    counts.read("workflows", len(found))
    versions = ", ".join(sorted({one.version for one in found}))
    return WorkflowTables(found, counts, "dax", CITATION, {"version": versions}).trace()
