"""One shape for everything that a request can be refused for."""

from __future__ import annotations

from typing import Any


class ServiceError(Exception):
    """A request that was refused; nothing of it took effect.

    Parameters
    ----------
    status : int
        HTTP status.
    code : str
        A word that programs can tell apart.
    message : str
        What is wrong, and what to do about it.
    details : dict
        Further JSON values, such as the sequence number to go on with.
    """

    def __init__(self, status: int, code: str, message: str, **details: Any) -> None:
        super().__init__(message)
        self.status, self.code, self.details = status, code, details

    def to_dict(self) -> dict[str, Any]:
        """The body of the answer.

        Examples
        --------
        >>> ServiceError(404, "unknown_case", "there is no such case.").to_dict()
        {'error': {'code': 'unknown_case', 'message': 'there is no such case.', 'details': {}}}
        """
        return {"error": {"code": self.code, "message": str(self), "details": self.details}}
