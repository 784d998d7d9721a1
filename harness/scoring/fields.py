"""Checks of the answer's values: the whole of it, one field, many fields with their types."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, structs

from harness.domain.flat import TYPES, is_flat, to_json_schema
from harness.scoring.check import PathProblem, Result, failed, passed
from harness.scoring.extract import Data, data_of
from harness.scoring.structure import first_error
from harness.scoring.text import TEXT_CAP, no_answer
from harness.scoring.trial import Answer, Trial
from harness.scoring.values import look_up, plain, quote, same

Share = Annotated[float, Meta(gt=0, le=1)]
_NAMED = 3


class Exact(Struct, frozen=True, forbid_unknown_fields=True):
    value: Any


class JsonFieldEquals(Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(min_length=1)]
    value: Any


class FieldCorrectness(Struct, frozen=True, forbid_unknown_fields=True):
    """`fields`: expected values, nested or at dotted paths; `types`: the flat `field: type` dialect."""

    fields: dict[str, Any] = {}
    types: dict[str, Any] = {}
    threshold: Share = 1.0


def exact(trial: Trial, params: Exact) -> Result:
    """`value` equals output.data where given, else output.text (both stripped), else JSON found in the text.

    JSON is looked for only where `value` is no text, and the reason names how it was found.
    """
    answer, expected = trial.answer, f"the answer {quote(params.value)}"
    if answer is None:
        return no_answer(trial, expected)
    data = _whole(answer, params.value)
    where = "data" if answer.data is not None or data.note else "text"
    if data.problem:
        return failed(f"expected {expected}, came {plain(data.problem)}", (answer.line,))
    equal = same(
        params.value.strip() if isinstance(params.value, str) and where == "text" else params.value, data.value
    )
    came = f"came {where} {quote(data.value)}{data.note}"
    return (passed if equal else failed)(f"expected {expected}, {came}", (answer.line,))


def json_field_equals(trial: Trial, params: JsonFieldEquals) -> Result:
    """The answer's data has `value` at `path`, a dotted path; 1 equals 1.0, and "1" neither."""
    answer, expected = trial.answer, f"{plain(params.path)} = {quote(params.value)}"
    if answer is None:
        return no_answer(trial, expected)
    data = data_of(answer)
    if data.problem:
        return failed(f"expected {expected}, came {plain(data.problem)}", (answer.line,))
    value = look_up(data.value, params.path)
    came = "no such field" if value is UNSET else quote(value)
    equal = value is not UNSET and same(params.value, value)
    return (passed if equal else failed)(f"expected {expected}, came {came}{data.note}", (answer.line,))


def field_correctness(trial: Trial, params: FieldCorrectness) -> Result:
    """right / expected fields is at least `threshold`; a field is right by its value, one of `types` by its type.

    Expected fields are the leaves of `fields` (a list is one leaf, compared whole) and the entries of `types`;
    fields the answer has beyond them are free.
    """
    answer, leaves = trial.answer, list(_leaves(params.fields))
    expected = f"at least {params.threshold:.4g} of {len(leaves) + len(params.types)} fields right"
    if answer is None:
        return no_answer(trial, expected)
    data = data_of(answer)
    if data.problem:
        return failed(f"expected {expected}, came {plain(data.problem)}", (answer.line,))
    wrong = [*_wrong_values(leaves, data.value), *_wrong_types(params.types, data.value)]
    total = len(leaves) + len(params.types)
    share = (total - len(wrong)) / total
    more = f" and {len(wrong) - _NAMED} more" if len(wrong) > _NAMED else ""
    which = f": {'; '.join(wrong[:_NAMED])}{more}" if wrong else ""
    result = (passed if share >= params.threshold else failed)(
        f"expected {expected}, came {total - len(wrong)}{which}{data.note}", (answer.line,)
    )
    return structs.replace(result, value=share, threshold=params.threshold)


def examine_fields(params: FieldCorrectness, tools: Sequence[str]) -> Iterable[PathProblem]:
    if not list(_leaves(params.fields)) and not params.types:
        yield (), "expected fields with values, types, or both, came neither"
    if params.types and not is_flat(params.types):
        yield ("types",), f"expected `field: type` with types out of {', '.join(TYPES)}, came {quote(params.types)}"


def _whole(answer: Answer, value: Any) -> Data:
    if answer.data is not None:
        return Data(answer.data)
    if not isinstance(value, str):
        return data_of(answer)
    if len(answer.text or "") > TEXT_CAP:
        return Data(problem=f"a text of more than {TEXT_CAP} characters")
    return Data((answer.text or "").strip())


def _leaves(fields: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for key, value in fields.items():
        if isinstance(value, dict) and value:
            yield from _leaves(value, (*path, key))
        else:
            yield (*path, key), value


def _wrong_values(leaves: Iterable[tuple[tuple[str, ...], Any]], data: Any) -> Iterator[str]:
    for path, wanted in leaves:
        came = data
        for part in path:
            came = UNSET if came is UNSET else look_up(came, part)
        if came is UNSET or not same(wanted, came):
            shown = "nothing" if came is UNSET else quote(came)
            yield f"{plain('.'.join(path))} is {shown}, not {quote(wanted)}"


def _wrong_types(types: dict[str, Any], data: Any) -> Iterator[str]:
    for name, kind in types.items():
        error = first_error(to_json_schema({name: kind}), data)
        if error:
            yield f"{plain(name)} is not {quote(kind)}: {error}"
