"""What a new run can be asked for here: models, columns, and the rest of the form."""

from __future__ import annotations

from typing import Literal

from ...records import Model, PreviewLevel, ReviewMode


class ModelView(Model):
    """A model that a run can use. ``ready`` says that it could be called; ``advice`` what to set where it could not."""

    name: str
    provider: str
    ready: bool
    price_known: bool
    price_words: str
    advice: str
    recommended: bool


class Provider(Model):
    """A well-known provider, and whether its key is set."""

    name: str
    ready: bool
    variable: str
    advice: str
    prefix: str


class Models(Model):
    """``GET models``; with ``?name=`` what is known of that one. ``any_allowed``: a name may be typed freely."""

    models: tuple[ModelView, ...]
    providers: tuple[Provider, ...]
    any_allowed: bool
    allowed_words: str


class Column(Model):
    """A column: its exact name, to send back, and the same to show."""

    exact: str
    shown: str


class Table(Model):
    """A table of the data folder."""

    shown: str
    columns: tuple[Column, ...]


class Columns(Model):
    """``GET columns?path=``. ``target`` is the column that is plainly to be predicted, None where that is not plain."""

    path: str
    tables: tuple[Table, ...]
    target: str | None


class Choice(Model):
    """A value of a choice, and its label."""

    value: str
    label: str
    description: str


class Cap(Model):
    """A number of the form: what it is unless set, and the administrator's cap (None: none)."""

    name: Literal["steps", "workers", "timeout", "max_time", "max_tokens", "max_cost", "memory"]
    default: float | None
    cap: float | None
    unit: str


class Form(Model):
    """``GET form``: what a new run can be asked for here, within the administrator's caps."""

    version: str
    modes: tuple[Choice, ...]
    default_mode: ReviewMode
    previews: tuple[Choice, ...]
    default_preview: PreviewLevel | Literal["off"]
    policies: tuple[str, ...]
    metrics: tuple[Choice, ...]
    numbers: tuple[Cap, ...]
    default_model: str
    runs_folder: str
    data_words: str
    user: str
