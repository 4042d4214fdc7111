"""The seven laws as checks that any estimator, ours or a user's, can be run through.

An estimator of a cost-aware method is finished when :func:`check_contract` is silent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from worthwhile.testing._bill import (
    check_bill_can_be_recomputed,
    check_decimal_settings_do_not_matter,
    check_empty_values_are_paid_and_legal,
    check_nothing_is_paid_twice,
    check_order_of_telling_does_not_matter,
    check_prices_are_those_given,
    check_requirements_are_bought,
)
from worthwhile.testing._budget import (
    check_ample_budget_is_no_budget,
    check_budget_is_refused_with_advice,
    check_budgets_are_kept,
    check_budgets_cut_the_unlimited_order,
    check_sessions_keep_budgets,
)
from worthwhile.testing._honest import (
    check_infinity_is_refused_where_read,
    check_rows_do_not_see_each_other,
    check_unbought_values_are_not_used,
)
from worthwhile.testing._keys import (
    check_bad_keys_are_refused,
    check_keys_decide_alone,
    check_keys_fall_alike,
)
from worthwhile.testing._one_answer import (
    check_form_of_data_does_not_matter,
    check_numpy_settings_do_not_matter,
    check_reloaded_model_agrees,
    check_sessions_agree_with_batches,
)
from worthwhile.testing._refusals import (
    check_bad_prices_are_refused,
    check_bad_rows_are_refused,
    check_frames_are_read_by_name,
    check_prediction_needs_a_fit,
    check_sessions_survive_nonsense,
)
from worthwhile.testing._reproducible import (
    check_file_is_stable,
    check_refit_gives_the_same_bytes,
    check_threads_do_not_matter,
)
from worthwhile.testing._requests import (
    check_columns_that_are_not_to_be_had,
    check_each_row_may_have_its_budget,
    check_prices_of_today,
)
from worthwhile.testing._stored import check_stored_sessions_agree
from worthwhile.testing._subject import LAWS, ContractError, Subject
from worthwhile.testing._subjects import subjects

__all__ = ["CHECKS", "LAWS", "ContractError", "Subject", "check_contract", "subjects"]

CHECKS: tuple[Callable[[Subject], None], ...] = (
    check_rows_do_not_see_each_other,
    check_unbought_values_are_not_used,
    check_infinity_is_refused_where_read,
    check_sessions_agree_with_batches,
    check_keys_decide_alone,
    check_keys_fall_alike,
    check_stored_sessions_agree,
    check_reloaded_model_agrees,
    check_form_of_data_does_not_matter,
    check_numpy_settings_do_not_matter,
    check_prices_are_those_given,
    check_bill_can_be_recomputed,
    check_requirements_are_bought,
    check_prices_of_today,
    check_columns_that_are_not_to_be_had,
    check_each_row_may_have_its_budget,
    check_decimal_settings_do_not_matter,
    check_order_of_telling_does_not_matter,
    check_nothing_is_paid_twice,
    check_empty_values_are_paid_and_legal,
    check_budgets_are_kept,
    check_sessions_keep_budgets,
    check_budgets_cut_the_unlimited_order,
    check_ample_budget_is_no_budget,
    check_budget_is_refused_with_advice,
    check_file_is_stable,
    check_refit_gives_the_same_bytes,
    check_threads_do_not_matter,
    check_bad_rows_are_refused,
    check_frames_are_read_by_name,
    check_prediction_needs_a_fit,
    check_bad_prices_are_refused,
    check_bad_keys_are_refused,
    check_sessions_survive_nonsense,
)
"""Every check, in the order in which they run; each takes a :class:`Subject`."""


def check_contract(
    estimator: Any,
    X: Any = None,
    y: Any = None,
    *,
    costs: Any = None,
    seed: int = 0,
    rows: int = 16,
    trusted: Sequence[str] = (),
) -> None:
    """Hold an estimator to the seven laws.

    Parameters
    ----------
    estimator : estimator
        Not fitted: it is fitted on small generated data with a group, a fee and missing values (as
        a frame, as an array, and with three classes where it is a classifier), or on X and y.
        Fitted, or without ``fit`` (:class:`~worthwhile.PricedModel`): it is checked as it is on X.
    X : frame or array (n, d), optional
        Data of your own.
    y : array (n,), optional
        Its target, for an estimator that is to be fitted.
    costs : Costs, mapping or array, optional
        Prices to fit with; by default those of the estimator, or of the generated data.
    seed : int, default=0
        Seed of the data and of the checks; it becomes the estimator's ``random_state``.
    rows : int, default=16
        How many rows to look at.
    trusted : sequence of str
        Types of other libraries that may be loaded from the model's file.

    Raises
    ------
    ContractError
        Which law is broken, what should hold, and the row that shows it.

    Notes
    -----
    Foreign models (``policy_.exact`` is False) are compared to float precision instead of bits. A
    class from outside this library is read back from its file as a policy only, since files do not
    know the class. There are no other exceptions: everything in :data:`CHECKS` is run.

    Examples
    --------
    >>> import worthwhile
    >>> from worthwhile.testing import check_contract
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> heart = worthwhile.datasets.load_heart()
    >>> forest = RandomForestClassifier(5, max_depth=3, random_state=0).fit(heart.data, heart.target)
    >>> check_contract(worthwhile.PricedModel(forest, heart.costs), heart.data, rows=4)
    """
    for subject in subjects(
        estimator, X, y, costs=costs, seed=seed, rows=rows, trusted=tuple(trusted)
    ):
        for check in CHECKS:
            check(subject)
