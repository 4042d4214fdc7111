"""Predictions on demand as a service: sessions over HTTP, and a page for people.

Stands on ``runtime`` and ``persist`` alone; a model is used without a compiler. A request goes

1. through ``_app`` (limits, headers, one shape for errors; ``_text`` knows what can be stored) to ``_api``
   (programs, the most frequent requests by a ``_quick`` way in; ``_schemas`` says what requests and answers look
   like, ``_openapi`` which features there are) or ``_pages`` (people), with ``_keys`` saying who is calling;
2. to ``_cases``, which drives sessions of ``_models``, or ``_rows`` for many at once, or ``_promises``,
   which holds what came true against what was promised;
3. to ``_openings`` and ``_operations`` (cases), ``_history`` (many of them) and ``_key_operations`` (keys), what
   is written and read, on a ``_database`` (``_sqlite`` or ``_postgres``, by ``_stores``; ``_batches`` share a commit);
   ``_audit`` notes who did what.

Around it: ``_settings`` (file, environment, options), ``_metrics`` (Prometheus), ``_errors``,
``_upkeep`` (check before an upgrade, retention).
"""

from worthwhile.serve._app import create_app
from worthwhile.serve._errors import ServiceError
from worthwhile.serve._key_operations import list_keys, revoke_key
from worthwhile.serve._keys import new_key
from worthwhile.serve._settings import Limits, Settings
from worthwhile.serve._stores import open_database
from worthwhile.serve._upkeep import check_cases, retain

__all__ = [
    "Limits",
    "ServiceError",
    "Settings",
    "check_cases",
    "create_app",
    "list_keys",
    "new_key",
    "open_database",
    "retain",
    "revoke_key",
]
