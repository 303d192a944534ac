"""Names and ids in a Hadoop job history: texts, or the objects that Java's classes make of them."""

from __future__ import annotations

from failgym.traces.readers.json_fields import Fields

__all__ = ["told_name"]


def told_name(fields: Fields, name: str) -> str | None:
    """A name or id; None if it is not told. Raises TraceError.

    Rumen writes texts; where its data types are written as they are, a name is an object that holds
    a `value`, a host one with `rackName` and `hostName`, and ids are nested numbers.
    """
    if not isinstance(fields.values.get(name), dict):
        return fields.text(name)
    inside = fields.object(name)
    if inside is None:
        return None
    if inside.has("value"):
        return inside.text("value")
    if inside.has("hostName"):
        rack, host = inside.text("rackName") or "", inside.text("hostName") or ""
        return f"/{rack.strip('/')}/{host}" if rack else host
    job = inside.object("jobID") or inside.object("jobId") or inside
    if not (inside.has("id") and job.has("id") and job.has("jtIdentifier")):
        fields.fail(name, "a text, or an object with a value, a hostName or an id")
    of = f"{job.text('jtIdentifier')}_{job.integer('id'):04}"
    if job is inside:
        return f"job_{of}"
    kind = (inside.text("taskType") or inside.text("type") or "MAP")[:1].lower()
    return f"task_{of}_{kind}_{inside.integer('id'):06}"
