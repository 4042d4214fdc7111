"""How a raw output becomes a prediction and probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile.core import links
from worthwhile.core.quiet import quiet
from worthwhile.costs import Errors, expected_prices
from worthwhile.policy.calibration import Calibration

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

KINDS = ("value", "log-value", "log-odds", "logits", "probabilities", "score", "scores", "votes")


class Output:
    """The last step of every prediction, the same for a batch, a session and a stored model.

    Parameters
    ----------
    kind : str
        What the raw columns are: "value" (regression, one column per target), "log-value"
        (regression, one column, its logarithm), "log-odds" (binary, one column), "logits" (one
        column per class, softmax), "probabilities" (one per class), "score" (binary, sign decides,
        no probabilities), "scores" (largest decides, no probabilities), "votes" (first the votes of
        each class, then the weights of each class, which give the probabilities).
    classes : array, optional
        Labels; None for regression.
    calibration : Calibration, optional
        What turns the model's own probabilities into those that are told. Whatever a policy decides by
        stays as without it, and so do predictions, unless errors have prices.
    errors : Errors, optional
        Prices of errors: what is predicted is then the decision of the least expected price, by the
        probabilities that are told (for scores, by what they are as logits).

    Examples
    --------
    >>> import numpy as np
    >>> output = Output("log-odds", np.array(["no", "yes"]))
    >>> output.predict(np.array([[0.4], [-2.0]])).tolist()
    ['yes', 'no']
    """

    def __init__(
        self, kind: str, classes: Array | None = None, calibration: Calibration | None = None,
        errors: Errors | None = None,
    ) -> None:  # fmt: skip
        if kind not in KINDS:
            raise ValueError(f"output kind is {kind!r}: it is one of {', '.join(KINDS)}.")
        numbers = kind in ("value", "log-value")
        if (classes is None) != numbers:
            raise ValueError(f"output kind {kind!r} {'has no' if numbers else 'needs'} classes.")
        self.kind = kind
        self.classes = classes
        self.calibration = calibration
        self.errors = errors
        if errors is not None and (errors.loss is None) == numbers:
            raise ValueError(f"errors are {errors!r}, which do not fit a {kind!r} output.")
        if errors is not None and classes is not None:
            self._prices = errors.for_classes(classes)
            self._decisions = errors.labels(classes)

    @property
    def plain(self) -> Output:
        """The same without its calibration and prices of errors: what a walk goes by."""
        bare = self.calibration is None and self.errors is None
        return self if bare else Output(self.kind, self.classes)

    def calibrated(self, calibration: Calibration | None) -> Output:
        """The same with this calibration."""
        return Output(self.kind, self.classes, calibration, self.errors)

    def deciding(self, errors: Errors | None) -> Output:
        """The same with these prices of errors."""
        return Output(self.kind, self.classes, self.calibration, errors)

    @property
    def n_raw(self) -> int | None:
        """Number of raw columns; None where any number will do."""
        if self.classes is None:
            return 1 if self.kind == "log-value" else None
        if self.kind in ("log-odds", "score"):
            return 1
        return len(self.classes) * (2 if self.kind == "votes" else 1)

    @property
    def has_probabilities(self) -> bool:
        """Whether :meth:`probabilities` can be asked for."""
        shares = self.kind in ("log-odds", "logits", "probabilities", "votes")
        return shares or self.calibration is not None

    @property
    def labels(self) -> Array | None:
        """What may be predicted: the classes, and the label of referring where that has a price."""
        return self.classes if self.errors is None or self.classes is None else self._decisions

    def winner(self, raw: Floats) -> npt.NDArray[np.intp]:
        """Index of the likeliest class; ties go to the lower one."""
        if self.kind in ("log-odds", "score"):
            return (raw[:, 0] > 0).astype(np.intp)
        assert self.classes is not None
        best: npt.NDArray[np.intp] = np.argmax(raw[:, : len(self.classes)], axis=1)
        return best

    def predict(self, raw: Floats) -> Array:
        """Labels, or values for regression."""
        if self.kind == "value":
            return raw[:, 0] if raw.shape[1] == 1 else raw
        return self._decided(raw)

    @quiet
    def _decided(self, raw: Floats) -> Array:
        """Predictions that are computed from raw outputs."""
        if self.classes is None:
            return links.exponential(raw[:, 0])
        if self.errors is not None:
            chosen = np.argmin(self.expected(raw), axis=1)  # of equal ones the first
            decisions: Array = self._decisions[chosen]
            return decisions
        labels: Array = self.classes[self.winner(raw)]
        return labels

    @quiet
    def expected(self, raw: Floats) -> Floats:
        """Expected price of every decision, (n, n_classes), and of referring where it has one."""
        if self.errors is None or self.classes is None:
            raise AttributeError("errors of classes have no prices: give them as errors=.")
        known = self.has_probabilities
        shares = self.probabilities(raw) if known else links.exponential(self.logs(raw))
        return expected_prices(shares, self._prices)

    @quiet
    def probabilities(self, raw: Floats) -> Floats:
        """Probability of each class, (n, n_classes)."""
        if self.calibration is not None:
            return self.calibration(self.logs(raw))
        if self.kind == "log-odds":
            positive = links.sigmoid(raw[:, 0])
            return np.column_stack([1.0 - positive, positive])
        if self.kind == "logits":
            return links.softmax(raw)
        if self.kind == "probabilities":
            return np.array(raw)
        if self.kind == "votes":
            assert self.classes is not None
            weights = np.ascontiguousarray(raw[:, len(self.classes) :])
            shares: Floats = weights / links.row_sums(weights)[:, None]
            return shares
        raise AttributeError(f"a model with {self.kind} output has no probabilities: use predict.")

    @quiet
    def logs(self, raw: Floats) -> Floats:
        """Logarithms of the model's own probabilities, (n, n_classes): what a calibration starts from.

        Scores that are no probabilities are taken as if they were logits.
        """
        if self.kind in ("log-odds", "score"):
            return np.column_stack([links.log_sigmoid(-raw[:, 0]), links.log_sigmoid(raw[:, 0])])
        if self.kind in ("logits", "scores"):
            return links.log_softmax(raw)
        return links.log_shares(self.plain.probabilities(raw))

    @quiet
    def decision(self, raw: Floats) -> Floats:
        """What scikit-learn calls the decision function."""
        if self.kind in ("log-odds", "score"):
            return raw[:, 0]
        assert self.classes is not None
        scores = raw[:, : len(self.classes)]
        if len(self.classes) == 2:
            return scores[:, 1] - scores[:, 0]
        return scores
