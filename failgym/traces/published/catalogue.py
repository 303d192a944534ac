"""The table of published traces: addresses, sizes, hashes, licences, and who is to be cited.

A size or a hash is there where it is known for certain, in `known_files.csv`: computed of a copy
of the published file, or told by its publisher (`philly`: the pointer of Git LFS). Everywhere else
it is None, and what the server says of a file is checked instead (`download.py`). Of `wfcommons`
the list holds every path: those of files of which no copy was at hand without size and hash.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from importlib.resources import files

from failgym.traces.published.records import PublishedFile, PublishedTrace, Shards

__all__ = ["PUBLISHED"]

Known = Mapping[tuple[str, str], tuple[int | None, str | None]]
"""Trace and path -> size [bytes] and SHA-256; both None where only the path is known."""

CC_BY = "CC-BY 4.0"
GOOGLE = "https://storage.googleapis.com"
GOOGLE_2011_PARTS = 500
"""Parts of each table of events and usage (`part-00000-of-00500`)."""
CELLS = "abcdefgh"
"""Clusters of Google's traces of 2019."""
EVENTS_2019, USAGE_2019 = (
    ("machine_events", "collection_events", "instance_events"),
    "instance_usage",
)
"""The tables of 2019 that the reader reads; usage is by far the largest."""
WFINSTANCES = "f085867f2f9d0b266835295605a6db2c434fe69b"
"""The commit of WfInstances whose files are fetched."""
LANL_COPY = "1a49d102b38680531cb1d79ca131510b11b64e06"
"""The commit of the copy of LANL's release."""

ARCHIVE = "https://www.cs.huji.ac.il/labs/parallel/workload"
ARCHIVE_LICENCE = "research and education; acknowledge"
ARCHIVE_CITATION = (
    "Dror G. Feitelson, Dan Tsafrir, David Krakov: Experience with using the Parallel Workloads"
    " Archive. JPDC 74(10), 2014; and whom the log's header acknowledges"
)
ARCHIVE_LOGS = (
    ("nasa_ipsc", "NASA-iPSC-1993-3.1-cln"),
    ("lanl_cm5", "LANL-CM5-1994-4.1-cln"),
    ("sdsc_par", "SDSC-Par-1995-3.1-cln"),
    ("sdsc_par", "SDSC-Par-1996-3.1-cln"),
    ("ctc_sp2", "CTC-SP2-1996-3.1-cln"),
    ("llnl_t3d", "LLNL-T3D-1996-2"),
    ("kth_sp2", "KTH-SP2-1996-2.1-cln"),
    ("sdsc_sp2", "SDSC-SP2-1998-4.2-cln"),
    ("lanl_o2k", "LANL-O2K-1999-2"),
    ("osc", "OSC-Clust-2000-3.1-cln"),
    ("sdsc_blue", "SDSC-BLUE-2000-4.2-cln"),
    ("sandia_ross", "Sandia-Ross-2001-1.1-cln"),
    ("hpc2n", "HPC2N-2002-2.2-cln"),
    ("sdsc_ds", "SDSC-DS-2004-2.1-cln"),
    ("lpc", "LPC-EGEE-2004-1.2-cln"),
    ("llnl_ubgl", "LLNL-uBGL-2006-2"),
    ("llnl_atlas", "LLNL-Atlas-2006-2.1-cln"),
    ("llnl_thunder", "LLNL-Thunder-2007-1.1-cln"),
    ("anl_int", "ANL-Intrepid-2009-1"),
    ("pik_iplex", "PIK-IPLEX-2009-1"),
    ("ricc", "RICC-2010-2"),
    ("cea_curie", "CEA-Curie-2011-2.1-cln"),
    ("unilu_gaia", "UniLu-Gaia-2014-2"),
    ("kit_fh2", "KIT-FH2-2016-1"),
)
"""Folder and file of logs of the Parallel Workloads Archive, cleaned where it has cleaned them."""


def _known() -> Known:
    text = (files("failgym.traces.published") / "known_files.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines())
    return {
        (row["trace"], row["path"]): (int(row["size"]), row["sha256"])
        if row["sha256"]
        else (None, None)
        for row in rows
    }


def _file(known: Known, trace: str, path: str, url: str) -> PublishedFile:
    return PublishedFile(path, url, *known.get((trace, path), (None, None)))


def _google_2011(known: Known) -> PublishedTrace:
    bucket, parts = f"{GOOGLE}/clusterdata-2011-2", GOOGLE_2011_PARTS
    tables = {"machine_events": 1, "job_events": parts, "task_events": parts, "task_usage": parts}
    paths = [
        f"{table}/part-{part:05d}-of-{count:05d}.csv.gz"
        for table, count in tables.items()
        for part in range(count)
    ]
    return PublishedTrace(
        "google-2011",
        "29 days of a cluster of 12,500 machines, May 2011 (ClusterData2011_2)",
        "google-2011",
        "https://github.com/google/cluster-data/blob/master/ClusterData2011_2.md",
        CC_BY,
        "Charles Reiss, John Wilkes, Joseph L. Hellerstein: Google cluster-usage traces: format +"
        " schema. Google Inc., 2011",
        tuple(_file(known, "google-2011", path, f"{bucket}/{path}") for path in paths),
        size=41_000_000_000,
        remark="most of it is task_usage: leave it out with --only 'job_events/*' and so on",
    )


def _google_2019(cell: str, *tables: str) -> PublishedTrace:
    """The events of a cell, or its usage."""
    bucket = f"{GOOGLE}/clusterdata_2019_{cell}"
    names = [f"{table}-{{:012d}}.json.gz" for table in tables]
    usage = tables == (USAGE_2019,)
    return PublishedTrace(
        f"google-2019-{cell}{'-usage' * usage}",
        f"{'usage in ' * usage}31 days of cell {cell}, May 2019 (ClusterData2019)",
        "google-2019",
        "https://github.com/google/cluster-data/blob/master/ClusterData2019.md",
        CC_BY,
        "Muhammad Tirmazi, Adam Barker, Nan Deng, Md Ehtesam Haque, Zhijing Gene Qin, Steven Hand,"
        " Mor Harchol-Balter, John Wilkes: Borg: the Next Generation. EuroSys 2020",
        (),
        tuple(Shards(name, f"{bucket}/{name}") for name in names),
        remark="files are numbered, and fetched until the server has no more; "
        + ("import them together with the cell's events" if usage else "usage is apart"),
    )


def _log(known: Known, folder: str, log: str) -> PublishedTrace:
    name, path = "-".join(log.split("-")[: _words(log)]).lower(), f"{log}.swf.gz"
    return PublishedTrace(
        name,
        f"Parallel Workloads Archive: {log}",
        "swf",
        f"{ARCHIVE}/l_{folder}/",
        ARCHIVE_LICENCE,
        ARCHIVE_CITATION,
        (_file(known, name, path, f"{ARCHIVE}/l_{folder}/{path}"),),
    )


def _words(log: str) -> int:
    """How many words of a log's name say which it is: those up to the year."""
    return next(at for at, word in enumerate(log.split("-"), 1) if word.isdecimal())


def _lanl(known: Known) -> PublishedTrace:
    name, path = "lanl-failures", "LA-UR-05-7318-failure-data-1996-2005.csv.xz"
    copy = f"https://raw.githubusercontent.com/Derek-Jones/ESEUR-code-data/{LANL_COPY}/reliability"
    return PublishedTrace(
        name,
        "node outages of systems of Los Alamos, 1996 to 2005 (LA-UR-05-7318)",
        "lanl",
        "https://www.usenix.org/cfdr-data",
        "released by Los Alamos National Laboratory; cite it",
        "Los Alamos National Laboratory, LA-UR-05-7318, failure data 1996-2005; B. Schroeder and"
        " G. A. Gibson, A large-scale study of failures in high-performance computing systems,"
        " DSN 2006",
        (_file(known, name, path, f"{copy}/{path}"),),
        remark="a copy: unpacked it is, byte for byte, the file of LANL's release",
    )


def _philly(known: Known) -> PublishedTrace:
    path = "trace-data.tar.gz"
    base = "https://media.githubusercontent.com/media/msr-fiddle/philly-traces/master"
    return PublishedTrace(
        "philly",
        "117,325 jobs of Microsoft's GPU clusters, August to December 2017",
        "philly",
        "https://github.com/msr-fiddle/philly-traces",
        "published by Microsoft as is; cite the paper",
        "Myeongjae Jeon, Shivaram Venkataraman, Amar Phanishayee, Junjie Qian, Wencong Xiao, Fan"
        " Yang: Analysis of Large-Scale Multi-Tenant GPU Clusters for DNN Training Workloads."
        " USENIX ATC 2019",
        (_file(known, "philly", path, f"{base}/{path}"),),
        remark="an archive: unpack it (tar -xzf trace-data.tar.gz) and import cluster_job_log",
    )


def _wfcommons(known: Known) -> PublishedTrace:
    base = f"https://raw.githubusercontent.com/wfcommons/WfInstances/{WFINSTANCES}/pegasus"
    paths = [path for trace, path in known if trace == "wfcommons"]
    return PublishedTrace(
        "wfcommons",
        "Pegasus' workflows of seven applications, as they ran (WfInstances)",
        "wfformat",
        "https://github.com/wfcommons/WfInstances",
        "LGPL 3.0",
        "T. Coleman, H. Casanova, L. Pottier, M. Kaushik, E. Deelman, R. Ferreira da Silva,"
        " WfCommons: A framework for enabling scientific workflow research and development, FGCS"
        " 128, 2022",
        tuple(_file(known, "wfcommons", path, f"{base}/{path}") for path in paths),
        remark="a folder for each application: import these one by one",
    )


def _by_name(traces: Iterable[PublishedTrace]) -> dict[str, PublishedTrace]:
    found: dict[str, PublishedTrace] = {}
    for trace in traces:
        if found.setdefault(trace.name, trace) is not trace:
            raise ValueError(f"{trace.name}: is there twice")
    return found


def _all() -> Iterable[PublishedTrace]:
    known = _known()
    yield _google_2011(known)
    for cell in CELLS:
        yield _google_2019(cell, *EVENTS_2019)
        yield _google_2019(cell, USAGE_2019)
    yield from (_log(known, folder, log) for folder, log in ARCHIVE_LOGS)
    yield _lanl(known)
    yield _philly(known)
    yield _wfcommons(known)


PUBLISHED: dict[str, PublishedTrace] = _by_name(_all())
"""By name."""
