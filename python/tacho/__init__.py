"""What Tacho has recorded, as pandas frames.

    import tacho
    recording = tacho.open("tacho-4711")
    recording.table("gpu", columns=["power_watts"])
    recording.processes(filter="cpu>1s")

    jobs = tacho.database("postgres://db.site/tacho")
    jobs.job("4711").operations()
"""

from .database import Database, database
from .jobs import Jobs
from .program import TachoError
from .recording import Recording, open

__all__ = ["Database", "Jobs", "Recording", "TachoError", "database", "open"]
