"""One W&B run per (cell, seed, attempt), closed whatever happens to it.

W&B sees what the run directory holds: config is the started record, summary the result. Training never depends on W&B: without a key, or
when the host does not answer in time, the run is recorded offline and `upload` brings it there later.
"""

from mingru.tracking.live import start, summarise, track
from mingru.tracking.names import run_id, run_name

__all__ = ["run_id", "run_name", "start", "summarise", "track"]
