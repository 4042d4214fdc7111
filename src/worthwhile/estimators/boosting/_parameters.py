"""The parameters of both Greedy Misers: what they are, and how trees are grown under them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.utils._param_validation import Interval, StrOptions

from worthwhile.core.collective import Collective
from worthwhile.estimators._shared.deprecation import warn_of
from worthwhile.estimators._shared.parameters import TrainingParameters
from worthwhile.estimators.base import CostAware
from worthwhile.estimators.boosting.booster import BoosterSettings
from worthwhile.estimators.boosting.losses import Loss

if TYPE_CHECKING:
    from worthwhile.estimators.boosting._training import Training

OLD_STARTS = {"prior": "default", "zero": "paper"}
"""What ``init`` of version 0.1.0 is called among the presets, where trees grow by equation 5."""


@dataclass(frozen=True)
class Preset:
    """What a preset says where a parameter is "auto"."""

    newton: bool
    validation_fraction: float | None
    patience: int | None


AS_PUBLISHED = Preset(newton=False, validation_fraction=None, patience=None)

PRESETS = {
    "default": Preset(newton=True, validation_fraction=0.1, patience=20),
    "paper": AS_PUBLISHED,
    "authors": AS_PUBLISHED,
}

ROWS_TO_SPARE = 10_000
"""Rows from which on some are held out unasked, as in scikit-learn: 2,500 were better all trained on."""

USUAL_RATE = 0.1
"""Learning rate where rows are many or rounds are cut to the best."""

MOST_STEPS, MANY_ROWS = 20.0, 2000
"""Most steps, rounds times rate, on so many rows; on fewer, less by the root of their number. Chosen on 200 and
600 rows of five tables: without it, 200 rounds at rate 0.1 are far too sure of themselves there."""

MOST_NOISE = 10.0
"""With more, noise alone would say where to split, and does already."""


@dataclass(eq=False, repr=False)
class MiserParameters(TrainingParameters, CostAware):
    """The parameters, their checks, and what the parameters mean to the booster."""

    trade_off_parameters: ClassVar[tuple[str, ...]] = ("lam",)
    _renamed: ClassVar[dict[str, str]] = {"init": "preset"}
    _usual_noise: ClassVar[float] = 0.0

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "lam": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "n_rounds": [Interval(Integral, 0, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "max_depth": [Interval(Integral, 0, 16, closed="both")],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "lam_scale": [StrOptions({"mean", "sum"})],
        "penalty": [StrOptions({"model", "row"})],
        "preset": [StrOptions({"default", "paper", "authors"})],
        "newton": ["boolean", StrOptions({"auto"})],
        "subsample": [Interval(Real, 0, 1, closed="right")],
        "max_features": [Interval(Real, 0, 1, closed="right")],
        "split_noise": [Interval(Real, 0, MOST_NOISE, closed="both"), StrOptions({"auto"})],
        "validation_fraction": [None, Interval(Real, 0, 1, closed="neither"), StrOptions({"auto"})],
        "patience": [None, Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "warm_start": ["boolean"],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    lam: float | str = 0.0
    _: KW_ONLY
    n_rounds: int = 200
    learning_rate: float | str = "auto"
    max_depth: int = 6
    min_samples_leaf: int = 20
    lam_scale: str = "mean"
    penalty: str = "model"
    preset: str = "default"
    newton: bool | str = "auto"
    subsample: float = 1.0
    max_features: float = 1.0
    split_noise: float | str = "auto"
    validation_fraction: float | str | None = "auto"
    patience: int | str | None = "auto"
    scoring: str | Callable[..., float] = "loss"
    warm_start: bool = False
    random_state: Any = None
    verbose: int = 0

    def _present_params(self, given: dict[str, Any]) -> dict[str, Any]:
        """``init`` and ``preset="equation"`` of version 0.1.0 become a preset of today."""
        name, had = type(self).__name__, _word(getattr(self, "preset", "default"))
        if "init" not in given:
            if _word(given.get("preset")) != "equation":
                return given
            now = "paper" if had == "paper" else "default"
            warn_of(f"{name}(preset='equation')", f"preset={now!r}", 3)
            return {**given, "preset": now}
        init, preset = _word(given["init"]), _word(given.get("preset", had))
        if "preset" in given and preset in ("default", "paper"):
            raise TypeError(
                f"{name} got init={init!r} and preset={preset!r}: the preset says where to start, give it alone."
            )
        if init not in OLD_STARTS or (init, preset) == ("prior", "authors"):
            raise ValueError(
                f"{name} got init={init!r}: it was 'prior' or 'zero', and is part of preset now, 'default' or "
                "'paper'; preset='authors' starts from 0."
            )
        now = "authors" if preset == "authors" else OLD_STARTS[init]
        warn_of(f"{name}(init={init!r})", f"preset={now!r}", 3)
        return {key: value for key, value in given.items() if key != "init"} | {"preset": now}

    def _or_preset(self, name: str) -> Any:
        """A parameter, or what the preset says where it is "auto"."""
        value = getattr(self, name)
        return getattr(PRESETS[self.preset], name) if isinstance(value, str) else value

    def _share_to_hold_out(self, n_rows: int) -> float | None:
        """Share of the training rows to hold out: unasked only where there are rows to spare.

        A fit that goes on would hold out rows it has trained on.
        """
        asked = not isinstance(self.validation_fraction, str)
        if not asked and (n_rows < ROWS_TO_SPARE or self.warm_start):
            return None
        share: float | None = self._or_preset("validation_fraction")
        return share

    def _lam(self) -> float:
        """The number that ``lam`` stands for; before one was chosen, 0."""
        return float(getattr(self, "lam_", 0.0) if isinstance(self.lam, str) else self.lam)

    def _rate(self, training: Training, everybody: Collective) -> float:
        """The learning rate: as given, or for "auto" smaller where rows are few and all rounds are run."""
        if not isinstance(self.learning_rate, str):
            return float(self.learning_rate)
        all_run = training.y_held is None and not self.warm_start and self.preset == "default"
        if not all_run or self.n_rounds == 0:
            return USUAL_RATE
        if training.weight is None:
            rows = float(everybody.sum(np.array([len(training.y)]))[0])
        else:
            rows = everybody.fsum(training.weight)
        most = MOST_STEPS * math.sqrt(rows / MANY_ROWS)
        return min(USUAL_RATE, most / int(self.n_rounds))

    def _noise(self) -> float:
        """The noise in splits: as given, or for "auto" the class's own, with the steps that it was chosen with."""
        if not isinstance(self.split_noise, str):
            return float(self.split_noise)
        usual = self.preset == "default" and self._or_preset("newton")
        return self._usual_noise if usual else 0.0

    def _settings(self, rate: float = USUAL_RATE) -> BoosterSettings:
        authors = self.preset == "authors"
        return BoosterSettings(
            lam=self._lam(), lam_scale=self.lam_scale, learning_rate=rate,
            max_depth=int(self.max_depth), min_samples_leaf=int(self.min_samples_leaf),
            penalty=self.penalty, reuse_within_round=not authors, force_split=authors, half=not authors,
            by_curvature=self.preset == "default",
        )  # fmt: skip

    def _base_of(self, loss: Loss) -> npt.NDArray[np.float64]:
        """Scores before the first tree: the paper, and its authors, start from 0."""
        return loss.base() if self.preset == "default" else np.zeros(loss.n_outputs)


def _word(value: Any) -> str:
    """A parameter as text: constructors take anything, and only ``fit`` refuses what is no word."""
    return value if isinstance(value, str) else repr(value)
