"""Training one model in several processes, each with some of the rows: the same model, byte for byte.

1. ``plan``: who trains on which rows, from the targets alone.
2. ``mesh``: the sockets between the processes, by which they add up whole numbers.
3. ``training``: what each process runs.
4. ``whole``: what each runs where all have all rows, for methods whose work can be shared, but not their rows.

Who starts the processes and brings the rows to them is left to others, such as
:mod:`worthwhile.dask`; nothing here knows Dask.
"""

from worthwhile.distributed.mesh import Listener, Mesh, MeshError
from worthwhile.distributed.plan import Part, Plan, plan_fit
from worthwhile.distributed.training import Shard, train
from worthwhile.distributed.whole import fit_together

__all__ = [
    "Listener",
    "Mesh",
    "MeshError",
    "Part",
    "Plan",
    "Shard",
    "fit_together",
    "plan_fit",
    "train",
]
