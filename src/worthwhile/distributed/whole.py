"""What each process runs where all of them hold all rows, and share the work instead of the data.

Every rank runs the fit of one machine, of a budgeted forest, a submodular tree or a frontier of budgets, on the same
rows. Where it comes to trees, to moments of blocks of rows, or to forests of sets of features, each rank makes some and
tells the others, so that all go on with the same numbers.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from worthwhile.core.collective import Collective, sharing_work

_lock = threading.Lock()
_limits: list[Any] = []
"""The limit of BLAS threads in force, once for every rank in this process."""


@contextmanager
def _one_blas_thread() -> Iterator[None]:
    """One thread for BLAS until the last rank in this process is done.

    Fits set such a limit themselves, and take it back; with several ranks in one process, as in
    ``LocalCluster(processes=False)``, the first to finish would take it from the others.
    """
    with _lock:
        _limits.append(_limits[0] if _limits else threadpool_limits(1))
    try:
        yield
    finally:
        with _lock:
            limit = _limits.pop()
            if not _limits:
                limit.restore_original_limits()


def fit_together(
    model: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    collective: Collective,
    **settings: Any,
) -> Any:
    """Fit the model together with the other ranks; every rank returns the same model.

    Parameters
    ----------
    model : estimator
        What is to be fitted; it is left as it is.
    X, y, sample_weight
        All rows, the same on every rank.
    collective : Collective
        All ranks.
    **settings
        Parameters that hold during the fit alone: ``n_jobs`` of this rank, a ``random_state`` that is the same on
        all.
    """
    fitted = copy.copy(model)
    asked = {name: getattr(model, name) for name in settings if hasattr(model, name)}
    vars(fitted).update({name: settings[name] for name in asked})
    more = {} if sample_weight is None else {"sample_weight": sample_weight}
    with _one_blas_thread(), sharing_work(collective):
        fitted.fit(X, y, **more)
    vars(fitted).update(asked)
    made = fitted.trace_ if hasattr(fitted, "trace_") else fitted.frontier_
    collective.note(made.to_json().encode())
    collective.sum(np.zeros(1))  # models are compared, and nobody leaves before the others
    return fitted
