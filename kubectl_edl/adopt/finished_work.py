"""What a Job has completed, which runs again when the Job is created again."""

from typing import Any

from edl.writes import Json
from kubectl_edl.output.cell_quantities import counted


def end_of(job: Json) -> str:
    """`Complete` or `Failed` for a Job that has ended; otherwise empty. It may be malformed."""
    conditions = _object(job.get("status")).get("conditions")
    met = [
        condition.get("type")
        for condition in (conditions if isinstance(conditions, list) else ())
        if isinstance(condition, dict) and condition.get("status") == "True"
    ]
    return next((end for end in ("Complete", "Failed") if end in met), "")


def completed(job: Json) -> str:
    """`1 of 6 completions`, or `3 pods` of a work queue; empty if nothing has succeeded."""
    succeeded = _whole(_object(job.get("status")).get("succeeded"))
    if not succeeded:
        return ""
    wanted = _whole(_object(job.get("spec")).get("completions"))
    return (
        f"{succeeded} of {counted(wanted, 'completion')}" if wanted else counted(succeeded, "pod")
    )


def repeated(job: Json) -> str:
    """`has ended (Complete) with 2 of 2 completions`; empty if nothing would run again."""
    end, work = end_of(job), completed(job)
    if end:
        return f"has ended ({end})" + (f" with {work}" if work else "")
    return f"has {work}" if work else ""


def rerun_refused(job: Json) -> str:
    name = job["metadata"]["name"]
    return f'Job "{name}" {repeated(job)}, and all of it would run again: add --rerun'


def _whole(value: Any) -> int:  # noqa: ANN401 - JSON
    return value if isinstance(value, int) else 0


def _object(value: Any) -> Json:  # noqa: ANN401 - JSON
    return value if isinstance(value, dict) else {}
