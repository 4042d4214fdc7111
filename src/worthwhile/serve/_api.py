"""The HTTP interface for programs, under ``/v1``; health and metadata as the Open Inference Protocol has them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Path, Request, Response
from fastapi.responses import JSONResponse

from worthwhile.serve import _schemas as schemas
from worthwhile.serve._cases import Cases
from worthwhile.serve._errors import ServiceError
from worthwhile.serve._keys import Caller
from worthwhile.serve._promises import check_model
from worthwhile.serve._quick import LONGEST_CASE, LONGEST_KEY, QuickRoute
from worthwhile.serve._rows import drive, predict_rows

REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": schemas.ErrorAnswer, "description": text}
    for status, text in {
        400: "The request cannot be read.",
        401: "No valid API key.",
        402: "The key's budget does not cover the case.",
        404: "There is no such case or model for this key.",
        408: "The request took too long to arrive.",
        409: "The case stands at another step, or is closed.",
        410: "The values were removed after the time of retention.",
        413: "The request is too large.",
        421: "The service has another name.",
        422: "A field is not as it should be; nothing was recorded.",
        429: "Too many open cases.",
        500: "Something went wrong here.",
        503: "The store has failed: send it again with the same key.",
    }.items()
}

quick = APIRouter(prefix="/v1", responses=REFUSALS, route_class=QuickRoute)
router = APIRouter(prefix="/v1", responses=REFUSALS)
public = APIRouter(responses=REFUSALS)

IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=LONGEST_KEY,
        description="Send the same key again, and the same answer comes back without a second bill.",
    ),
]
CaseId = Annotated[str, Path(max_length=LONGEST_CASE)]
ModelName = Annotated[str, Path(max_length=200)]


async def get_caller(
    request: Request, authorization: Annotated[str | None, Header()] = None
) -> Caller:
    """Who is calling."""
    found: Caller = await request.app.state.keys.caller(authorization)
    return found


async def get_cases(request: Request) -> Cases:
    """The cases of this service; async, since others are run in threads."""
    found: Cases = request.app.state.cases
    return found


Who = Annotated[Caller, Depends(get_caller)]
AllCases = Annotated[Cases, Depends(get_cases)]


def needed(key: str | None) -> str:
    """The idempotency key, without which a step is refused."""
    if key is None:
        raise ServiceError(
            400, "no_idempotency_key", "send an Idempotency-Key header: a new one for each step."
        )
    return key


def _sent(text: str, status: int = 200) -> Response:
    """JSON that is written already."""
    return Response(text, status, media_type="application/json")


@quick.post("/sessions", response_model=schemas.CaseAnswer, status_code=201, summary="Begin a case")
async def open_session(
    body: schemas.OpenRequest, who: Who, cases: AllCases, key: IdempotencyKey = None
) -> Response:
    """Begin a case with a model; the answer says what to fetch first."""
    return _sent(await cases.open(who, dict(body), key), 201)


@quick.post("/sessions/{case}/tell", response_model=schemas.CaseAnswer, summary="Give values")
async def tell(
    case: CaseId, body: schemas.TellRequest, who: Who, cases: AllCases, key: IdempotencyKey = None
) -> Response:
    """Give values; the answer carries the next ask. It is on disk before it is answered."""
    return _sent(await cases.tell(who, case, dict(body), needed(key)))


@router.post("/sessions/{case}/stop", response_model=schemas.CaseAnswer, summary="End a case early")
async def stop(
    case: CaseId, body: schemas.StopRequest, who: Who, cases: AllCases, key: IdempotencyKey = None
) -> Response:
    """End a case with the answer that it has."""
    return _sent(await cases.stop(who, case, dict(body), needed(key)))


@router.get("/sessions/{case}", response_model=schemas.CaseAnswer, summary="Read a case")
async def view(case: CaseId, who: Who, cases: AllCases) -> Response:
    """The case as it stands."""
    return JSONResponse(await cases.view(who, case))


@router.get("/sessions/{case}/ledger", response_model=schemas.LedgerAnswer, summary="Read a bill")
async def ledger(case: CaseId, who: Who, cases: AllCases) -> dict[str, Any]:
    """Every purchase with its exact amount, as text."""
    found = await cases.ledger(who, case)
    return {"id": case, "key": found.key, "entries": found.to_records()}


@router.put("/sessions/{case}/truth", status_code=204, summary="Say how a case came out")
async def truth(case: CaseId, body: schemas.TruthRequest, who: Who, cases: AllCases) -> Response:
    """Keep the truth beside the answer, so that the promise can be checked; a later one replaces it."""
    await cases.set_truth(who, case, body.truth)
    return Response(status_code=204)


@router.get("/models", response_model=schemas.ModelsAnswer, summary="What is served")
async def models(who: Who, request: Request) -> dict[str, Any]:
    """The models with their versions, prices and features."""
    return {"models": [model.describe() for model in request.app.state.models.current]}


@router.get(
    "/models/{name}/promise",
    response_model=schemas.PromiseAnswer,
    summary="Does the promise still hold?",
)
async def promise(name: ModelName, who: Who, request: Request) -> dict[str, Any]:
    """Bill, accuracy, calibration and total cost of cases whose truth is known, beside what was promised."""
    state = request.app.state
    return await check_model(state.database, state.models.get(name), who.sees)


@router.post(
    "/models/{name}/predict",
    response_model=schemas.PredictAnswer,
    summary="Predict rows with bills",
)
async def predict(
    name: ModelName, body: schemas.PredictRequest, who: Who, request: Request
) -> dict[str, Any]:
    """Predict rows whose values are at hand; nothing is kept."""
    state = request.app.state
    model = state.models.get(name)
    return {"predictions": await predict_rows(model, body, state.settings.limits)}


@router.post(
    "/models/{name}/versions/{version}/predict",
    response_model=schemas.PredictAnswer,
    summary="Predict rows with an older version",
)
async def predict_version(
    name: ModelName,
    version: Annotated[str, Path(max_length=100)],
    body: schemas.PredictRequest,
    who: Who,
    request: Request,
) -> dict[str, Any]:
    """The same with any version that was ever served."""
    state = request.app.state
    model = await state.models.version(name, version)
    return {"predictions": await predict_rows(model, body, state.settings.limits)}


@router.post(
    "/models/{name}/drive",
    response_model=schemas.DriveAnswer,
    summary="Drive cases by the server's own functions",
)
async def drive_cases(
    name: ModelName,
    body: schemas.DriveRequest,
    who: Who,
    request: Request,
    key: IdempotencyKey = None,
) -> dict[str, Any]:
    """Open a case per id and let the functions that the operator registered fetch what it asks for."""
    state = request.app.state
    answers = await drive(
        state.cases,
        state.extractors,
        who,
        name,
        body.model_dump(),
        needed(key),
        state.settings.limits,
    )
    return {"cases": answers}


@router.get("/openapi.json", include_in_schema=False)
async def document(who: Who, request: Request) -> dict[str, Any]:
    """The interface in OpenAPI, with the models and features that are served."""
    found: dict[str, Any] = request.app.openapi()
    return found


# As the Open Inference Protocol has it --------------------------------------------------------------


@public.get("/v2/health/live", summary="The process runs")
async def live() -> dict[str, bool]:
    """Whether the process runs."""
    return {"live": True}


@public.get("/v2/health/ready", summary="The store answers")
async def ready(request: Request) -> dict[str, bool]:
    """Whether requests can be taken."""
    await request.app.state.database.read(lambda cursor: cursor.run("SELECT 1"))
    return {"ready": True}


@public.get("/v2/models/{name}", summary="Metadata of a model")
async def metadata(name: ModelName, who: Who, request: Request) -> dict[str, Any]:
    """Inputs and outputs of a model; their price is in ``/v1/models``."""
    model = request.app.state.models.get(name)
    kinds = {"number": "FP64", "duration": "FP64", "boolean": "BOOL"}
    inputs = [
        {
            "name": str(feature["feature"]),
            "datatype": kinds.get(feature["type"], "BYTES"),
            "shape": [-1],
        }
        for feature in model.features
    ]
    answer = {
        "name": "prediction",
        "datatype": "BYTES" if model.labelled else "FP64",
        "shape": [-1],
    }
    return {
        "name": model.name,
        "versions": [model.version],
        "platform": "worthwhile",
        "inputs": inputs,
        "outputs": [answer],
    }


@public.get("/v2/models/{name}/ready", summary="A model is served")
async def model_ready(name: ModelName, who: Who, request: Request) -> dict[str, bool]:
    """Whether a model can be asked."""
    request.app.state.models.get(name)
    return {"ready": True}


@public.get("/v2", summary="What runs here")
async def server() -> dict[str, Any]:
    """Name and version of the server."""
    import worthwhile

    return {"name": "worthwhile", "version": worthwhile.__version__, "extensions": []}


@public.get(
    "/metrics",
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
    summary="Counters for Prometheus",
)
async def metrics(request: Request, who: Who) -> Response:
    """Counters in Prometheus' own format; for managers where there are keys."""
    if not who.manager:
        raise ServiceError(404, "not_found", "there is nothing here for this key.")
    return Response(request.app.state.metrics.text(), media_type="text/plain; version=0.0.4")
