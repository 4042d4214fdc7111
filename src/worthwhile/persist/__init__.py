"""Model files: a zip of JSON and ``.npy`` without code, checked before anything is built.

A file holds one JSON tree, ``model.json``, whose leaves may refer to arrays beside it. Reading goes
through three gates: the archive (names, sizes, doubles), the values (JSON and array headers, against
the bytes that are really there), and the model (every policy checks its own indices, shapes and
numbers). Whatever fails is refused as :class:`~worthwhile.exceptions.BadModelFile`.
"""

from worthwhile.persist._files import describe, load, load_policy, load_promise, save

__all__ = ["describe", "load", "load_policy", "load_promise", "save"]
