"""Requests and answers as the API documents them; unknown fields are refused."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt

Name = Annotated[str, Field(max_length=4000)]
CaseKey = Annotated[str, Field(max_length=200)]
Amount = Annotated[float, Field(strict=True, ge=0, le=9_007_199, allow_inf_nan=False)]
Value = (
    StrictBool | StrictInt | Annotated[float, Field(allow_inf_nan=False)] | Annotated[str, Field(max_length=100_000)]
    | dict[str, bool] | None
)  # fmt: skip


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class OpenRequest(_Strict):
    """Begin a case."""

    model: Name = Field(description="Name of a served model.")
    budget: Amount | None = Field(None, description="Never spend more than this.")
    one_by_one: StrictBool = Field(False, description="Ask for one feature at a time.")
    prices: dict[Name, Amount] | None = Field(
        None,
        description="Prices of today of features and fees, where they differ from the model's.",
    )
    unavailable: list[Name] | None = Field(
        None, description="Features that cannot be had for this case."
    )
    key: CaseKey | None = Field(
        None, description="Of the case, where a model tosses a coin: the same key, the same toss."
    )
    label: Annotated[str, Field(max_length=200)] = Field("", description="What you call the case.")


class TellRequest(_Strict):
    """Give the values that a case asked for."""

    seq: Annotated[StrictInt, Field(ge=0, le=2**53)] = Field(description="The step that asked.")
    values: Annotated[dict[Name, Value], Field(min_length=1, max_length=100_000)] = Field(
        description="By feature: a number or text; null came back empty (it is paid); "
        '{"unavailable": true} cannot be had (it is not).'
    )
    prices: dict[Name, Amount] | None = Field(
        None, description="What was really paid, where that is not the list price."
    )


class StopRequest(_Strict):
    """End a case early."""

    seq: Annotated[StrictInt, Field(ge=0, le=2**53)]


class TruthRequest(_Strict):
    """How a case came out."""

    truth: (
        StrictBool | StrictInt | Annotated[float, Field(allow_inf_nan=False)] | Annotated[str, Field(max_length=4000)]
    ) = Field(description="A class of the model, or a number.")  # fmt: skip


class PredictRequest(_Strict):
    """Rows whose values are all at hand; each is billed for what the model reads of it."""

    rows: Annotated[list[dict[Name, Value]], Field(min_length=1)]
    budget: Amount | None = None
    keys: list[CaseKey] | None = Field(
        None,
        description="One for each row, where the model tosses a coin: the same key, the same toss.",
    )


class DriveRequest(_Strict):
    """Cases whose values the server fetches by its own functions; where a model tosses a coin, ids are keys."""

    ids: Annotated[list[CaseKey | StrictInt], Field(min_length=1)]
    budget: Amount | None = None


class Wanted(_Strict):
    """One thing that a case asks for."""

    feature: str | int
    price: float
    why: str
    type: str
    choices: list[Any] | None


class CaseAnswer(_Strict):
    """A case as it stands."""

    id: str
    model: str
    version: str
    seq: int
    state: str
    ask: list[Wanted]
    prediction: Any
    probabilities: dict[str, float] | None
    spent: float
    budget: float | None
    unit: str
    done: bool


class LedgerLine(BaseModel):
    """One purchase."""

    model_config = ConfigDict(extra="allow")

    kind: str
    feature: str | int | None
    amount: str = Field(description="Exact, as text.")
    total: str = Field(description="The bill up to this line.")


class LedgerAnswer(_Strict):
    """The bill of a case."""

    id: str
    key: str | None = Field(description="Of the case, where it was opened with one.")
    entries: list[LedgerLine]


class Feature(_Strict):
    """What a model may ask for."""

    feature: str | int
    price: float
    type: str
    choices: list[Any] | None


class ModelAnswer(_Strict):
    """A served model."""

    name: str
    version: str
    sha256: str
    kind: str
    classes: list[Any] | None
    unit: str
    total: float
    features: list[Feature]
    promised: dict[str, float] | None


class ModelsAnswer(_Strict):
    """What is served."""

    models: list[ModelAnswer]


class PredictedRow(_Strict):
    """The answer to a row."""

    prediction: Any
    probabilities: list[float] | None
    spent: float
    bought: list[str | int]


class PredictAnswer(_Strict):
    """The answers to rows."""

    predictions: list[PredictedRow]


class DrivenCase(CaseAnswer):
    """A case that the server drove to its end."""

    of: str | int


class DriveAnswer(_Strict):
    """Cases that the server drove to their ends."""

    cases: list[DrivenCase]


class PromiseAnswer(BaseModel):
    """Whether what a model promised holds for the cases whose truth is known."""

    judged: int = Field(description="Cases that were looked at.")
    left_out: int = Field(
        description="Cases with a budget, prices or features of their own, or stopped early."
    )
    holds: bool | None = Field(description="null where it cannot be judged.")
    verdict: str
    rows: int | None = None
    confidence: float | None = Field(None, description="Of the intervals.")
    figures: list[dict[str, Any]] = Field(
        [], description="name, promised, now, low, high, verdict; the bill also has its bound."
    )
    drifted: list[dict[str, Any]] = Field([], description="Features whose values have changed.")


class ErrorBody(_Strict):
    """What is wrong, and what to do about it."""

    code: str
    message: str
    details: dict[str, Any]


class ErrorAnswer(_Strict):
    """The one shape of every refusal."""

    error: ErrorBody
