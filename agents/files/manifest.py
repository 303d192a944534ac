"""What a policy file says of itself: where an agent was trained, on what, how, and what it reads.

A manifest is JSON text; nothing in it is evaluated. What has to agree with this version of failgym
(observation fields, action alphabet) is checked, the rest is for people.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Annotated, Any, ClassVar, Literal, Self, cast

from pydantic import Discriminator, Field, JsonValue, Tag, ValidationError, model_validator

from failgym.agents.ensembles.sizes import ForestSizes, PerceptronSizes
from failgym.agents.networks.sizes import Network
from failgym.agents.strict_record import GrownRecord, Record
from failgym.baselines.base import enabled
from failgym.envs.scenarios import SCENARIOS
from failgym.envs.spaces import columns_among
from failgym.sim.shared.fields import FIELDS, INDEX
from failgym.sim.shared.rules import Rules
from failgym.vocabulary import Action
from failgym.worlds.scenario import Scenario

__all__ = [
    "FORMAT",
    "VERSION",
    "Environment",
    "Manifest",
    "ObservationField",
    "Scaling",
    "TrainedIn",
    "actions",
    "changed_fields",
    "observation_fields",
    "parse_manifest",
]

FORMAT = "failgym agent"
VERSION = 1

ASKED = ("decide", "every", "window")
"""Fields of a scenario that say when WINDOW decisions are asked."""


class ObservationField(Record):
    """One number that the agent reads."""

    name: str
    unit: str
    low: float
    high: float


class Scaling(Record):
    """Observations were normalised by a running mean and variance, as SB3's `VecNormalize` does.

    Mean and variance are tensors of the file.
    """

    epsilon: Annotated[float, Field(gt=0.0)]
    clip: Annotated[float, Field(gt=0.0)]


NETWORK, TREES, PERCEPTRONS = "of a network", "of trees", "of small networks"
"""The alternatives that sizes may be; errors do not show them."""
_TOLD_BY = {"trees": TREES, "units": PERCEPTRONS}
"""A field that only one of them has."""


def _kind(sizes: Any) -> str:
    if isinstance(sizes, Record):
        sizes = vars(sizes)
    if not isinstance(sizes, Mapping):
        return NETWORK
    stated = cast(Mapping[str, Any], sizes)
    return next((kind for field, kind in _TOLD_BY.items() if field in stated), NETWORK)


Sizes = Annotated[
    Annotated[Network, Tag(NETWORK)]
    | Annotated[ForestSizes, Tag(TREES)]
    | Annotated[PerceptronSizes, Tag(PERCEPTRONS)],
    Discriminator(_kind),
]


class Environment(Record):
    """Where the agent was trained."""

    id: str
    fields: dict[str, JsonValue]
    """fields of the scenario that are not as registered"""
    decisions: tuple[str, ...]
    """what may be decided there (`failgym.worlds.decisions.DECISIONS`)"""

    @classmethod
    def of(cls, scenario: Scenario) -> Environment:
        """The environment of a scenario."""
        changed = {name: _plain(value) for name, value in changed_fields(scenario).items()}
        return cls(id=f"failgym/{scenario.name}", fields=changed, decisions=enabled(scenario))

    def registered(self) -> Scenario:
        """The scenario of this id, with no field changed."""
        return _registered(self.id.removeprefix("failgym/"))

    def asked(self) -> Scenario:
        """The same, asking as often as the agent was asked.

        Raises:
            ValueError: for a value of the wrong type or range.
        """
        changed = {name: self.fields[name] for name in ASKED if name in self.fields}
        return self.registered().override(**changed)


class TrainedIn(Environment):
    """One of several environments that the agent was trained in, all at once."""

    trace_hash: str
    """as that of the manifest"""
    hears: tuple[Annotated[int, Field(ge=0)], ...] = ()
    """of an ensemble: numbers of the advisers that are asked there; the first one's answer stands
    in doubt"""
    hidden: tuple[str, ...] = ()
    """fields that are shown as 0 there"""
    caution: Annotated[float, Field(ge=0.0, le=100.0)] | None = None
    """of an ensemble: standard deviations between models that are taken off their mean there; None:
    as its sizes say"""


class Manifest(GrownRecord):
    """Everything that a policy file holds beside its weights."""

    LATER: ClassVar[frozenset[str]] = frozenset({"environments"})

    format: Literal["failgym agent"] = FORMAT
    version: Literal[1] = VERSION
    name: Annotated[str, Field(max_length=80, pattern=r"^[^\x00-\x1f\x7f]+$")]
    """what tables call the agent"""
    environment: Environment
    environments: tuple[TrainedIn, ...] = ()
    """all that it was trained in, ``environment`` among them; none, if that is the only one"""
    observation: tuple[ObservationField, ...]
    """the fields that the agent reads, in order"""
    scaling: Scaling | None
    """None: the agent reads the observation as it is"""
    actions: tuple[str, ...]
    algorithm: str
    policy: str
    """class of the network in stable-baselines3 or sb3-contrib; "Forest" for trees"""
    network: Sizes
    critic: bool
    """are the weights of the value function in the file?"""
    versions: dict[str, str]
    """of the libraries that it was trained with"""
    command: str
    """what trained it"""
    settings: dict[str, JsonValue] = Field(default_factory=dict)
    """hyper-parameters, all of them; none if they are not known"""
    trace_hash: str
    """SHA-256 of the trace that it was trained on a split of (`Trace.content_hash`)"""
    steps: Annotated[int, Field(ge=0)]
    seed: int | None
    scores: dict[str, JsonValue]

    @model_validator(mode="after")
    def _same_environment(self) -> Self:
        places = {place.id: place for place in self.environments}
        if len(places) < len(self.environments):
            raise ValueError("environments: expected each once")
        own = places.get(self.environment.id)
        if places and (own is None or not self._is_own(own)):
            raise ValueError(f"environments: expected {self.environment.id} among them, as it is")
        for place in self.environments:
            if unread := [name for name in place.hidden if name not in self.fields]:
                raise ValueError(f"environments: hidden: the agent reads no {unread[0]!r}")
        return self

    def _is_own(self, place: TrainedIn) -> bool:
        own = self.environment
        return (place.fields, place.decisions, place.trace_hash) == (
            *(own.fields, own.decisions),
            self.trace_hash,
        )

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of the fields that the agent reads, in order."""
        return tuple(field.name for field in self.observation)

    def trained_in(self, rules: Rules) -> Environment | None:
        """Which of the environments that the agent was trained in such rules are; None if none is.

        Changed fields do not make it another one, unless they say what may be decided.
        """
        for place in self.environments or (self.environment,):
            named = not isinstance(rules, Scenario) or place.id == f"failgym/{rules.name}"
            if named and set(place.decisions) == set(enabled(rules)):
                return place
        return None

    def check_readable(self) -> None:
        """Raise ValueError unless this version of failgym shows what the agent was trained to see,
        and means the same by its answers.
        """
        if self.actions != actions():
            raise ValueError(
                f"actions: trained on {', '.join(self.actions)}, expected {', '.join(actions())}"
            )
        try:
            columns_among(self.fields, tuple(INDEX))
        except ValueError as error:
            raise ValueError(f"observation: {error}") from error
        for got, wanted in zip(self.observation, observation_fields(self.fields), strict=True):
            if got != wanted:
                raise ValueError(f"observation: {_described(got)}, expected {_described(wanted)}")

    def check_environment(self, rules: Rules) -> None:
        """Raise ValueError unless the agent was trained in this environment (`trained_in`)."""
        if self.trained_in(rules) is not None:
            return
        places = {place.id: place for place in self.environments or (self.environment,)}
        trained = next(iter(places.values()))
        if isinstance(rules, Scenario):
            if (name := f"failgym/{rules.name}") not in places:
                raise ValueError(f"trained in {', '.join(places)}, not in {name}")
            trained = places[name]
        raise ValueError(
            f"trained to decide {', '.join(trained.decisions) or 'nothing'};"
            f" here is decided {', '.join(enabled(rules)) or 'nothing'}"
        )


def changed_fields(scenario: Scenario) -> dict[str, Any]:
    """The fields of a scenario that are not as registered, by name."""
    registered = _registered(scenario.name)
    values = {field.name: getattr(scenario, field.name) for field in fields(scenario)}
    return {name: v for name, v in values.items() if v != getattr(registered, name)}


def _registered(name: str) -> Scenario:
    """The scenario of a name; the one of all defaults where there is none."""
    return SCENARIOS.get(name, Scenario(name=name))


def parse_manifest(text: str) -> Manifest:
    """Read a manifest.

    Raises:
        ValueError: in one line, naming the entry: no JSON, an entry that is missing, unknown or of
            the wrong type, another version of the format, other observation fields or actions.
    """
    try:
        manifest = Manifest.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        hidden = (NETWORK, TREES, PERCEPTRONS)
        where = ".".join(str(part) for part in first["loc"] if part not in hidden)
        reason = f"{where}: {first['msg']}" if where else first["msg"]
        raise ValueError(f"manifest: {reason}") from error
    manifest.check_readable()
    return manifest


def observation_fields(names: Iterable[str]) -> tuple[ObservationField, ...]:
    """Fields of the observation by their names."""
    found = (FIELDS[INDEX[name]] for name in names)
    return tuple(
        ObservationField(name=f.name, unit=f.unit, low=float(f.low), high=float(f.high))
        for f in found
    )


def actions() -> tuple[str, ...]:
    """The action alphabet, in order."""
    return tuple(action.name for action in Action)


def _described(field: ObservationField) -> str:
    return f"{field.name} [{field.unit}, {field.low:g} to {field.high:g}]"


def _plain(value: Any) -> Any:
    """A value of a scenario's field as JSON: a number, a text, or what describes an object."""
    if isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple):
        return [_plain(part) for part in value]  # pyright: ignore[reportUnknownVariableType]
    found: Any = getattr(value, "content_hash", None) or getattr(value, "trace_hash", None)
    kind = type(value).__name__
    return f"{kind} {found}" if found else (kind if hasattr(value, "predict") else str(value))
