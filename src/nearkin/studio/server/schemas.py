"""Bodies and parameters of requests: no other fields, and exactly these types."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import Header, Path, Query
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from nearkin.errors import InputError
from nearkin.studio.events import LONGEST_NAME, Origin, Purpose, Word
from nearkin.studio.pictures import SIDES

# No file has more rows.
LARGEST_ROW = 2**53 - 1
# Rows of a group; as many as are ever shown.
_MOST_OF_A_GROUP = 500_000
_MOST_COLUMNS = 10_000
# Groups that a row is shown beside: as many as there are keys for.
_MOST_SHOWN = 9


def _convert_whole(value: Any) -> Any:
    """Convert a float that is a whole number to an int, since JSON does not distinguish them."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _convert_amount(value: Any) -> Any:
    """Convert an int to a float, since JSON does not distinguish them."""
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _check_side(side: int) -> int:
    """Return the side of a picture; raise if it is none of the allowed sizes."""
    if side not in SIDES:
        raise InputError(f"pictures have sides of {', '.join(map(str, SIDES))} pixels")
    return side


Row = Annotated[int, Field(ge=0, le=LARGEST_ROW), BeforeValidator(_convert_whole)]
RowBeside = Annotated[int | None, Query(ge=0, le=LARGEST_ROW)]
RowInPath = Annotated[int, Path(ge=0, le=LARGEST_ROW)]
# Pixels of the longer side of a picture: few sizes, so that pages ask for the same ones.
Side = Annotated[int, Query(), AfterValidator(_check_side)]
Key = Annotated[str, Path(min_length=1, max_length=100)]
# Which tab asks for what comes next.
Tab = Annotated[str, Header(alias="X-Nearkin-Tab", max_length=40)]
# Who answers.
Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
# What is looked for in texts.
Words = Annotated[str, Field(max_length=500)]
Amount = Annotated[float, Field(allow_inf_nan=False), BeforeValidator(_convert_amount)]


class _Body(BaseModel):
    """What all bodies have: nothing but what is named, of exactly these types."""

    model_config = ConfigDict(extra="forbid", strict=True)


class AnswerBody(_Body):
    """Two rows are the same kind of thing, are not, or it is not clear (null)."""

    left: Row
    right: Row
    same: bool | None
    origin: Origin = "question"
    before: Word | None = None
    by: Name | None = None


class WhichBody(_Body):
    """Which of some rows a row is like; none of them (false), or it is not clear (null)."""

    left: Row
    rows: Annotated[list[Row], Field(min_length=1, max_length=_MOST_SHOWN)]
    right: Row | None = None
    same: bool | None
    origin: Origin = "question"
    before: Literal["nothing"] | None = None
    by: Name | None = None


class GroupNameBody(_Body):
    """The group that answers have put a row in has this name from now on; null takes it away."""

    row: Row
    name: Name | None


class AskBody(_Body):
    """What is asked: about kinds, or about things that are there twice; and in which words."""

    purpose: Purpose
    words: Name


class SplitBody(_Body):
    """Some rows are the same kind of thing, and none of them is like any of some others."""

    rows: Annotated[list[Row], Field(min_length=1, max_length=_MOST_OF_A_GROUP)]
    others: Annotated[list[Row], Field(min_length=1, max_length=_MOST_OF_A_GROUP)]
    before: Literal["nothing"] | None = None
    by: Name | None = None


class GroupsBody(_Body):
    """All rows of two groups are the same kind of thing, or none of one like any of the other."""

    first: Annotated[list[Row], Field(min_length=1, max_length=_MOST_OF_A_GROUP)]
    second: Annotated[list[Row], Field(max_length=_MOST_OF_A_GROUP)]
    same: bool
    before: Literal["nothing"] | None = None
    by: Name | None = None


class WhereBody(_Body):
    """What a column is to hold: one of some kinds, an amount in a range, or words."""

    key: Annotated[str, Field(min_length=1, max_length=100)]
    kinds: Annotated[list[Row], Field(max_length=1000)] | None = None
    low: Amount | None = None
    high: Amount | None = None
    text: Words | None = None


class SearchBody(_Body):
    """Rows that somebody looks for; all of it has to hold."""

    text: Words = ""
    where: Annotated[list[WhereBody], Field(max_length=50)] = []
    groups: Annotated[list[Row], Field(max_length=1000)] = []
    doubtful: bool = False


class RowsBody(_Body):
    """Some rows, in the order in which they are wanted."""

    rows: Annotated[list[Row], Field(min_length=1, max_length=_MOST_OF_A_GROUP)]


class WithdrawalBody(_Body):
    """What was said of two rows does not count any more."""

    left: Row
    right: Row
    before: Word | None = None


class EntryWithdrawalBody(_Body):
    """What an entry of the list of answers said does not count any more."""

    number: Row


class StepBody(_Body):
    """A step back or forth, from a version that is the newest as far as a page knows."""

    version: Row | None = None


class ColumnsToLearnFromBody(_Body):
    """Columns by name, and whether they are brought to one scale; null for where that is needed."""

    columns: Annotated[
        list[Annotated[str, Field(max_length=1000)]], Field(min_length=1, max_length=_MOST_COLUMNS)
    ]
    standardise: bool | None = None
