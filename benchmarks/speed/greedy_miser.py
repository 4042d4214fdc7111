"""Greedy Miser beside LightGBM with first-use feature penalties, at equal meaning.

Both grow trees of the same depth with the same learning rate, bins, leaf size, rounds and threads;
LightGBM runs with its default float gradients and with quantised ones. ``lam`` is in sum scale, so
``cegb_tradeoff * cegb_penalty_feature_coupled = 2 * lam * price``. Every run is a process of its
own (compile time apart, peak memory), contenders alternate, medians and spreads are reported. The
models of the last runs then predict in one process, in turns.

    python -m benchmarks.speed.greedy_miser --quick
    python -m benchmarks.speed.greedy_miser --full --data FOLDER_WITH_COVTYPE
    python -m benchmarks.speed.greedy_miser --sweep
    python -m benchmarks.speed.greedy_miser --phases
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

CONTENDERS = ("worthwhile", "lightgbm", "lightgbm-quantised")
LAMS = {"none": 0.0, "moderate": 1.0, "strong": 10.0}
"""Names of lam, in units of one thousandth of the unpriced root gain per unit of price."""


def load(shape: str, data: str | None, scale: float):
    """(X, y, X_test, y_test, prices, binary) of one of the three shapes."""
    rng = np.random.default_rng(0)
    if shape == "yahoo":
        from worthwhile.datasets import make_yahoo_like

        n = int(141397 * scale)
        X, y, _, costs = make_yahoo_like(n + n // 4, 0)
        X, prices = np.asarray(X), np.array([float(p) for p in costs.prices.values()])
        return X[:n], y[:n].astype(float), X[n:], y[n:].astype(float), prices, False
    if shape == "forest":
        archive = np.load(Path(data) / "covtype.npz")
        X, y = archive["X"], (archive["y"] == 2).astype(float)
        # Both get floats, which LightGBM would otherwise copy integers to.
        X = X.astype(np.float32)
        held = rng.random(len(y)) < 0.1
        train = ~held & (rng.random(len(y)) < scale)
        return X[train], y[train], X[held], y[held], np.ones(X.shape[1]), True
    n = int(45523 * scale)
    X = rng.normal(size=(n + n // 4, 50)).astype(np.float32)
    signal = (
        X[:, 0]
        + np.abs(X[:, 1])
        + np.where(X[:, 2] > 0, 2, 1) * X[:, 3]
        + np.sin(2 * X[:, 4])
        + X[:, 5:15].sum(axis=1) / 3
    )
    y = signal + rng.normal(size=len(X))
    return X[:n], y[:n], X[n:], y[n:], rng.integers(1, 10, 50).astype(float), False


def loss_of(y, raw, binary):
    if not binary:
        return float(0.5 * ((y - raw) ** 2).mean())
    return float(np.logaddexp(0.0, np.where(y > 0, -raw, raw)).mean())


def root_gain(y):
    return float(0.5 * ((y - y.mean()) ** 2).sum())


def fit_worthwhile(X, y, prices, lam, binary, options):
    from worthwhile import GreedyMiserClassifier, GreedyMiserRegressor

    kind = GreedyMiserClassifier if binary else GreedyMiserRegressor
    model = kind(
        lam=lam, lam_scale="sum", costs=prices, n_rounds=options.rounds, n_jobs=options.threads,
        newton=binary, max_depth=3, validation_fraction=None,
    )  # fmt: skip
    tiny = np.random.default_rng(0).normal(size=(4000, 24)).astype(X.dtype)
    start = time.perf_counter()
    kind(lam_scale="sum", n_rounds=2, newton=binary).fit(tiny, tiny[:, 0] > 0).predict(tiny)
    compiled = time.perf_counter() - start
    with Measured() as measured:
        model.fit(X, y)
    return model, measured, compiled, lambda rows: model.policy_.batch(rows, billed=False).raw[:, 0]


def fit_lightgbm(X, y, prices, lam, binary, options, quantised):
    import lightgbm

    parameters = {
        "objective": "binary" if binary else "regression", "num_leaves": 8, "max_depth": 3, "verbose": -1,
        "learning_rate": 0.1, "min_data_in_leaf": 20, "max_bin": 255, "num_threads": options.threads,
        "lambda_l2": 0.0, "min_sum_hessian_in_leaf": 0.0, "use_quantized_grad": quantised,
        "force_col_wise": False,
    }  # fmt: skip
    if lam > 0:
        parameters |= {
            "cegb_tradeoff": 1.0,
            "cegb_penalty_feature_coupled": (2 * lam * prices).tolist(),
        }
    with Measured() as measured:
        data = lightgbm.Dataset(X, y, params=parameters, free_raw_data=False)
        model = lightgbm.train(parameters, data, options.rounds)
    return (
        model,
        measured,
        0.0,
        lambda rows: model.predict(rows, raw_score=True, num_threads=options.threads),
    )


class Measured:
    """Seconds and additional peak memory of a block."""

    def __enter__(self):
        gc.collect()  # what compiling and loading left behind is not part of the fit
        Path("/proc/self/clear_refs").write_text("5")  # let the peak start from here
        self._before = self._peak()
        self._start = time.perf_counter()
        return self

    def __exit__(self, *_):
        self.seconds = time.perf_counter() - self._start
        self.megabytes = (self._peak() - self._before) / 1024

    @staticmethod
    def _peak():
        lines = Path("/proc/self/status").read_text().splitlines()
        return int(next(line.split()[1] for line in lines if line.startswith("VmHWM")))


def in_turns(calls, repeats):
    """Median seconds of several calls, one after the other in each round."""
    found = {name: [] for name in calls}
    for number in range(repeats + 1):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            if number:  # the first is for warming up
                found[name].append(time.perf_counter() - start)
    return {name: statistics.median(seconds) for name, seconds in found.items()}


def used_price(model, prices):
    if hasattr(model, "policy_"):
        return float(prices[model.policy_.trees.features].sum())
    return float(prices[model.feature_importance() > 0].sum())


def predictions(options):
    """Batch, one-row and session prediction of both models, taking turns: the machine's speed varies."""
    import lightgbm

    import worthwhile
    from worthwhile.core.walks import general as walk

    X = load(options.shape, options.data, options.scale)[2]
    row = np.ascontiguousarray(X[:1])
    model, policy = (
        f(f"{options.models}/worthwhile") for f in (worthwhile.load, worthwhile.load_policy)
    )
    peer = lightgbm.Booster(model_file=f"{options.models}/lightgbm")
    trees, raw, bill = model.policy_.trees, np.zeros((1, 1)), np.zeros((0, 0), dtype=bool)
    arrays = row, trees.packed(), trees.sets, trees.value, trees.root, trees.output, trees.base
    names = policy.costs.names_of(range(policy.n_features))
    values = dict(zip(names, row[0].tolist(), strict=True))  # where the caller has them from

    def session():
        run = worthwhile.Session(policy)
        while wanted := run.ask():
            run.tell({name: values[name] for name in wanted})
        return run.prediction

    many = {
        "batch": lambda: model.policy_.batch(X, billed=False),
        "peer": lambda: peer.predict(X, raw_score=True, num_threads=options.threads),
    }
    one = {
        "walk": lambda: walk.walk(*arrays, trees.average, raw, bill, 0, 1),
        "one row": lambda: model.predict(row), "session": session, "peer": lambda: peer.predict(row),
    }  # fmt: skip
    for calls, repeats in ((many, 7), (one, 300)):
        found = in_turns(calls, repeats)
        for name in [name for name in calls if name != "peer"]:
            ours, theirs = found[name], found["peer"]
            print(
                f"  {name}: {ours * 1e6:.0f} us, LightGBM's {theirs * 1e6:.0f} us, ratio {ours / theirs:.2f}"
            )


def child(options):
    """One run: train, measure, print JSON, leave the model; or load both models and let them predict."""
    if options.contender == "predictions":
        predictions(options)
        return
    X, y, X_test, y_test, prices, binary = load(options.shape, options.data, options.scale)
    lam = LAMS[options.lam] * 1e-3 * root_gain(y) / prices.mean()
    if options.contender == "worthwhile":
        model, measured, compiled, raw_of = fit_worthwhile(X, y, prices, lam, binary, options)
    else:
        quantised = options.contender.endswith("quantised")
        model, measured, compiled, raw_of = fit_lightgbm(
            X, y, prices, lam, binary, options, quantised
        )
    result = {
        "seconds": measured.seconds,
        "compile": compiled,
        "megabytes": measured.megabytes,
        "loss": loss_of(y_test, raw_of(X_test), binary),
        "price": used_price(model, prices),
    }
    save = model.save if options.contender == "worthwhile" else model.save_model
    save(f"{options.models}/{options.contender}")
    print(json.dumps(result))


def run(options, shape, lam, contender):
    """What a process of its own prints."""
    command = [
        sys.executable, "-m", "benchmarks.speed.greedy_miser", "--child",
        "--shape", shape, "--lam", lam, "--contender", contender,
        "--rounds", str(options.rounds), "--threads", str(options.threads), "--scale", str(options.scale),
        "--models", options.models,
    ]  # fmt: skip
    if options.data:
        command += ["--data", options.data]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.rstrip()


def compare(options):
    """All shapes and lams, contenders alternating."""
    for shape in options.shapes:
        for lam in options.lams if shape == "yahoo" else ["none"]:
            results = {contender: [] for contender in CONTENDERS}
            for _ in range(options.repeats):
                for contender in CONTENDERS:
                    said = run(options, shape, lam, contender)
                    results[contender].append(json.loads(said.splitlines()[-1]))
            print(
                f"\n{shape}, lam {lam}, {options.rounds} rounds, {options.threads} threads, scale {options.scale}"
            )
            base = {}
            for contender, runs in results.items():
                middle = {key: statistics.median([r[key] for r in runs]) for key in runs[0]}
                spread = max(r["seconds"] for r in runs) - min(r["seconds"] for r in runs)
                base.setdefault("worthwhile", middle)
                ratio = base["worthwhile"]["seconds"] / middle["seconds"]
                print(
                    f"  {contender:19s} {middle['seconds']:8.2f} s (spread {spread:.2f}; ours/theirs {ratio:.2f})"
                    f"  loss {middle['loss']:.5f}  price {middle['price']:.0f}  +{middle['megabytes']:.0f} MB"
                    + (f"  compile {middle['compile']:.1f} s" if middle["compile"] else "")
                )
            print(run(options, shape, lam, "predictions"))


def sweep(options):
    """Sixteen values of lam on one binning, beside as many LightGBM runs."""
    from worthwhile import GreedyMiserRegressor

    X, y, _, _, prices, _ = load("yahoo", None, options.scale)
    unit = 1e-3 * root_gain(y) / prices.mean()
    lams = np.append(unit * np.logspace(1.5, -2, 15), 0.0).tolist()
    GreedyMiserRegressor(n_rounds=1).fit(X[:500], y[:500])
    model = GreedyMiserRegressor(
        lam_scale="sum",
        costs=prices,
        n_rounds=options.rounds,
        n_jobs=options.threads,
        max_depth=3,
        validation_fraction=None,
    )
    start = time.perf_counter()
    models = model.fit_path(X, y, lams)
    ours = time.perf_counter() - start
    start = time.perf_counter()
    for lam in lams[:: max(1, 16 // options.repeats)]:
        fit_lightgbm(X, y, prices, lam, False, options, False)
    theirs = (time.perf_counter() - start) / len(lams[:: max(1, 16 // options.repeats)])
    print(f"sweep of 16: {ours / 16:.2f} s per model of ours, {theirs:.2f} s per LightGBM run")
    for lam, fitted in zip(lams, models, strict=True):
        features, price = len(fitted.purchase_order_), used_price(fitted, prices)
        print(f"  lam {lam / unit:8.3f}  features {features:4d}  price {price:.0f}")


def phases(options):
    """Where the time of one tree goes, and what the memory of this machine could do.

    Trees of few columns grow inside one kernel. To see its parts, the general grower, which calls a
    kernel for each, does the same work once more.
    """
    from worthwhile import GreedyMiserRegressor
    from worthwhile.core.boosting import leaves, partition, rounded_gradients, splitting
    from worthwhile.core.boosting import purchases as bought
    from worthwhile.core.boosting import team_kernel as team_growth
    from worthwhile.core.boosting.team_grower import TeamGrower

    taken: dict[str, float] = {}
    watched = [
        (splitting, "score_packed"), (partition, "divide"), (leaves, "find_leaves"), (leaves, "add_values"),
        (rounded_gradients, "round_squared"), (bought, "meet_rows"), (team_growth, "grow_together"),
    ]  # fmt: skip

    def watch(module, name):
        kernel = getattr(module, name)

        def timed_kernel(*arguments):
            start = time.thread_time()
            result = kernel(*arguments)
            label = name
            if name == "score_packed":
                label = "root histograms" if arguments[3] else "other histograms"
            taken[label] = taken.get(label, 0.0) + time.thread_time() - start
            return result

        setattr(module, name, timed_kernel)

    for module, name in watched:
        watch(module, name)

    def measure(X, y, prices, title):
        GreedyMiserRegressor(n_rounds=1).fit(X[:500], y[:500])
        taken.clear()
        start = time.thread_time()
        GreedyMiserRegressor(
            costs=prices, n_rounds=options.rounds, max_depth=3, validation_fraction=None, n_jobs=1
        ).fit(X, y)
        whole = time.thread_time() - start
        print(f"{title}: {whole:.2f} s of one core for {options.rounds} rounds, binning included")
        for label, seconds in sorted(taken.items(), key=lambda item: -item[1]):
            print(f"  {label:18s} {seconds / options.rounds * 1e3:8.2f} ms per tree")

    suits = TeamGrower.suits
    for shape in options.shapes:
        X, y, _, _, prices, _ = load(shape, options.data, options.scale)
        measure(X, y, prices, shape)
        TeamGrower.suits = staticmethod(lambda *_: False)
        measure(X, y, prices, f"{shape}, kernel by kernel")
        TeamGrower.suits = suits
        big = np.ones(X.shape[0] * X.shape[1] // 8)
        rate = big.nbytes / in_turns({"sum": big.sum}, 5)["sum"] / 1e9
        codes = X.shape[0] * X.shape[1] / 1e9
        print(
            f"  memory: {rate:.1f} GB/s, so one pass over the codes takes {codes / rate * 1e3:.2f} ms"
        )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a tenth of the rounds, one repeat")
    parser.add_argument("--full", action="store_true", help="300 rounds, three repeats")
    parser.add_argument("--sweep", action="store_true", help="sixteen values of lam")
    parser.add_argument("--phases", action="store_true", help="time per phase of a tree")
    parser.add_argument("--data", help="folder with covtype.npz")
    parser.add_argument("--shapes", nargs="+", default=None, choices=["yahoo", "forest", "small"])
    parser.add_argument("--lams", nargs="+", default=list(LAMS), choices=list(LAMS))
    parser.add_argument("--rounds", type=int, default=None)
    parser.add_argument("--repeats", type=int, default=None)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the rows")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--shape", help=argparse.SUPPRESS)
    parser.add_argument("--lam", help=argparse.SUPPRESS)
    parser.add_argument("--contender", help=argparse.SUPPRESS)
    parser.add_argument("--models", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.rounds = options.rounds or (300 if options.full else 30)
    options.repeats = options.repeats or (3 if options.full else 1)
    options.shapes = options.shapes or (["yahoo", "small"] + (["forest"] if options.data else []))
    for wanted, action in (
        (options.child, child),
        (options.sweep, sweep),
        (options.phases, phases),
    ):
        if wanted:
            action(options)
            return
    with tempfile.TemporaryDirectory() as options.models:
        compare(options)


if __name__ == "__main__":
    main()
