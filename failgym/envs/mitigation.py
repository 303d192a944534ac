"""`MitigationEnv`: one episode at a time, behind Gymnasium's `Env`."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from failgym.envs import infos
from failgym.envs.keywords import scenario_of_call
from failgym.envs.rendering import FPS, MODES, Renderer
from failgym.envs.rendering.renderer import Frame
from failgym.envs.spaces import action_space, observation_space
from failgym.vocabulary import ACTIONS, Action
from failgym.worlds.batches import batch_of
from failgym.worlds.build import build_world
from failgym.worlds.scenario import Scenario

__all__ = ["MitigationEnv"]

_KEYS = 2**63


class MitigationEnv(gym.Env[npt.NDArray[np.float32], int | np.int64]):
    """A cluster replays a trace; the agent decides, task by task, how failures are met.

    It is the class of every environment; Mitigation-v1, whose name is like it, is one of them.

    ## Description

    In the pinned world the tasks of a slice of a trace run as recorded until the agent departs from
    the record; what follows is decided by written counterfactual rules: `failgym.sim.reference`
    states them. In the scheduled world they run on machines that fail, behind a queue and a
    scheduler, beside other tasks: `failgym.sim.reference.scheduled` states those rules.

    The agent is asked at the start of an attempt and after monitoring windows (WINDOW), when an
    attempt has failed (FAILED), when a task has finished whose output others need (OUTPUT), and
    when a task that is ready is offered a free machine (DISPATCH), as far as the scenario enables
    it, and only when more than CONTINUE is legal; after an action other than CONTINUE it is asked
    again as long as another is legal.

    ## Action Space

    `Discrete(5)`, one alphabet for every environment:

    | action | WINDOW | FAILED | OUTPUT | DISPATCH |
    |---|---|---|---|---|
    | 0 CONTINUE | let the attempt run | leave it to the cluster | leave it in memory | place it |
    | 1 CLONE | start the next attempt beside it | - | - | - |
    | 2 CHECKPOINT | save its progress | - | write it to stable storage | - |
    | 3 KILL | arm the grace period; armed: end the task | start nothing more | - | - |
    | 4 RETRY | - | start the next attempt now | - | offer it the next machine |

    In the scheduled world what is started waits in the queue like anything else. A task that no
    machine is left to be offered to is held until the next event, and placed when nothing else can
    happen.

    The mask of legal actions is in the observation (its last five fields), in
    `info["action_mask"]` (int8) and in `action_masks()` (bool). An illegal action counts as
    CONTINUE and is counted.

    ## Observation Space

    `Box(float32)` of named fields, the same in every environment; those that do not apply are zero.
    `failgym.envs.FIELDS` lists name, group, unit, bounds and meaning of each. Learners need those
    that can vary only (`failgym.envs.SelectFields`). By group:

    | group | what it tells |
    |---|---|
    | decision | its kind, actions taken in it, live attempts |
    | request | priority, class, resources, width |
    | usage | resources used so far |
    | history | attempts, failures and clones so far; what siblings did |
    | progress | age, unsaved and durable work, beside what is expected |
    | forecast | risk of the attempt, confidences of the task's classes |
    | cost | checkpoint, restore, grace; unsaved work over the intervals that would be best |
    | lineage | what a task's output is worth, in workflows |
    | machine | the machine that is offered, how long the task takes there and on the next one |
    | system | what runs, waits, arrives, finishes, fails and is interrupted in the cluster |
    | mask | the legal actions |

    ## Rewards

    Minus the change of the cost since the last decision. The return of an episode is minus its
    final cost. The cost is a sum of five named terms (`info["reward_terms"]`):

    | term | what is charged | in units of |
    |---|---|---|
    | wasted | lost, redundant and ghost work | mean machine-time of a task |
    | overhead | checkpoints and restores | mean machine-time of a task |
    | completion | the time integral of unsettled tasks, or jobs | their mean completion time |
    | forfeited | work and time of tasks that the record finishes and the agent does not | both |
    | others | all of that, of tasks that are not asked about | as above |

    The means are those of the train split; the weights are fields of the scenario. That of jobs
    (`completion="jobs"`) is the mean length of their critical paths. Where `waiting_price` is
    given, completion time is priced in machine-time. Where `task_value` is, every task that does
    not finish forfeits that many times its own work, in replay too. With `charge="episode"` the
    tasks that are there beside those asked about are charged too.

    ## Starting State

    A slice of `slice_tasks` tasks in order of submission, or of `slice_jobs` jobs: drawn by
    `reset(seed=...)`, or named by `reset(options={"slice": i})`. In the scheduled world other tasks
    are there too: what stood when the first of the `warmup` tasks was submitted, those, and the
    `followers` of the slice. They are not asked about, and charged for only with
    `charge="episode"`. Cost before the first decision belongs to the first step.

    ## Episode End

    Terminates when every task of the slice is over. Never truncates by itself.

    ## Info

    | key | meaning |
    |---|---|
    | action_mask | legal actions, int8 [5] |
    | task | trace row of the task of the decision, -1 after the end |
    | slice | index of the slice |
    | elapsed | simulated ms since the last decision, 0 across tasks served one after the other |
    | illegal | illegal actions so far |
    | reward_terms | the reward by term, in the order of `failgym.envs.TERMS` |
    | totals | at the end, zeros before: machine-ms by account, forfeited tasks, decisions, tasks |

    Keys, shapes and numpy types are the same at every reset and step. Totals are in the order of
    `failgym.envs.TOTALS`.

    In the scheduled world the decisions of many tasks interleave. To credit each with what it was
    about there is, besides:

    | scheduled key | meaning |
    |---|---|
    | unit | number within the episode of the task of the decision, -1 after the end |
    | unit_cost | the cost of that unit up to now, 0 after the end |
    | unit_costs | at the end, zeros before: costs of all units; they sum to all but `others` |

    The unit is the task; where completion is that of jobs, the job. There is room for the units of
    the largest slice, the background's too, with zeros beyond. What a decision makes others
    wait is not in the cost of its unit.

    The outcome table of the slice is `env.unwrapped.outcomes()`.

    ## Arguments

    `scenario`: a registered name or a `Scenario`; `strict=True`: an illegal action raises;
    `render_mode`: see below; any field of the scenario by name.

    >>> import gymnasium as gym, failgym
    >>> env = gym.make("failgym/Checkpoint-v1", jobs=200)
    >>> obs, info = env.reset(seed=1)
    >>> obs, reward, terminated, truncated, info = env.step(0)
    >>> reward <= 0.0
    True

    ## Rendering

    | mode | what `render` gives |
    |---|---|
    | ansi | a text |
    | human | nothing: every decision is shown in a window |
    | rgb_array | a picture, uint8 [576, 1024, 3] |

    Attempts are bars over time, coloured by what became of them, by task or, in the scheduled
    world, by machine; decisions are marks, machines that are down are shaded; beside them the
    accounts and costs up to now. Nothing is shown before it has happened. Pictures need
    `failgym[render]`. What is rendered is played once more, apart: it changes nothing, and an
    environment that is not rendered is not slowed down.

    ## Fidelity

    Pinned: a task that is left alone happens as recorded, to the millisecond. Open loop: extra
    attempts take no capacity from others. Scheduled: recorded evictions and losses are replaced by
    those of the simulated cluster; clones, retries and checkpoints take capacity from others. What
    else holds of a scenario is in its own file, `failgym.envs.scenarios`.

    ## Version History

    * v0: first version.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - Gymnasium declares it so
        "render_modes": MODES,
        "render_fps": FPS,
    }

    def __init__(
        self,
        scenario: str | Scenario,
        *,
        strict: bool = False,
        render_mode: str | None = None,
        **overrides: Any,
    ) -> None:
        self.scenario = scenario_of_call(type(self).__init__, scenario, overrides)
        self.strict = strict
        self.render_mode = render_mode
        self.observation_space: spaces.Space[Any] = observation_space()
        self.action_space = action_space()
        self.world = build_world(self.scenario)
        self.batch = batch_of(self.scenario, self.world, 1)
        self._by_unit = self.batch.units > 0
        self._renderer: Renderer | None = None
        if render_mode is not None:
            self._renderer = Renderer(render_mode, self.world, self.scenario)
        self._unended = infos.upon_ends(self.batch.output, self._by_unit, None)
        self._running = False
        self._action = np.zeros(1, dtype=np.int64)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[npt.NDArray[np.float32], dict[str, Any]]:
        """Begin an episode on the slice drawn by the seed, or on ``options={"slice": i}``.

        Raises:
            ValueError: for an unknown option, or a slice that does not exist.
        """
        chosen = chosen_slice(options, self.batch.slices)
        keyed = bool(self.batch.state.episodes["key"][0])
        super().reset(seed=seed)
        if seed is not None or not keyed:
            key = self.np_random.integers(1, _KEYS, dtype=np.int64)
            self.batch.seed(np.array([key], dtype=np.uint64))
        self.batch.reset(np.array([chosen], dtype=np.int64))
        self._running = True
        if self._renderer is not None:
            self._renderer.begin(int(self.batch.output.slice[0]))
            self._render_in_window()
        return self.batch.output.obs[0].copy(), self._info()

    def step(
        self, action: int | np.int64
    ) -> tuple[npt.NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Answer the open decision and run to the next one.

        Raises:
            RuntimeError: before the first reset or after the end of the episode.
            ValueError: for an action out of range, or an illegal one under ``strict=True``.
        """
        if not self._running:
            raise RuntimeError("step: expected a running episode; call reset first")
        chosen = self._checked(action)
        if self.strict and not self.batch.output.mask[0, chosen]:
            raise ValueError(f"action: {Action(chosen).name} is illegal in this decision")
        self._action[0] = chosen
        out = self.batch.step(self._action)
        ended = bool(out.terminated[0])
        self._running = not ended
        if self._renderer is not None:
            self._renderer.answered(chosen)
            self._render_in_window()
        return out.obs[0].copy(), float(out.reward[0]), ended, False, self._info()

    def _checked(self, action: int | np.int64) -> int:
        """An action as a number. Raises ValueError for what is none."""
        chosen = int(action)
        if chosen != action or not 0 <= chosen < ACTIONS:
            raise ValueError(f"action: expected 0 to {ACTIONS - 1}, got {action}")
        return chosen

    def simulate(self, action: int | np.int64) -> npt.NDArray[np.float64]:
        """What the episode will have cost, if this is the answer and CONTINUE all later ones.

        It is tried on a copy, which meets the same fates: the environment stays as it is.
        `failgym.counterfactual.branch` tries all actions, of many episodes at once, and goes on
        with any policy.

        Returns:
            float64 [5], cost by term, in the order of `failgym.envs.TERMS`.

        Raises:
            RuntimeError: before the first reset or after the end of the episode.
            ValueError: for an action that is out of range or illegal.
        """
        if not self._running:
            raise RuntimeError("simulate: expected a running episode; call reset first")
        chosen = self._checked(action)
        if not self.batch.output.mask[0, chosen]:
            raise ValueError(f"action: {Action(chosen).name} is illegal in this decision")
        wanted = np.zeros((1, ACTIONS), dtype=np.bool_)
        wanted[0, chosen] = True
        return self.batch.branched(wanted)[0, chosen]

    def render(self) -> Frame:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The episode up to now: uint8 [576, 1024, 3], a text, or None for a window.

        Raises:
            RuntimeError: before the first reset.
            gymnasium.error.DependencyNotInstalled: if a library is missing.
        """
        if self._renderer is None:
            gym.logger.warn("render: the environment was made without a render_mode")
            return None
        return self._renderer.render()

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._renderer is not None:
            self._renderer.close()

    def _render_in_window(self) -> None:
        """In the mode "human" every decision is shown."""
        if self.render_mode == "human":
            self.render()

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Legal actions of the open decision, bool [5] (sb3-contrib's MaskablePPO asks for it)."""
        return self.batch.output.mask[0].astype(np.bool_)

    def outcomes(self) -> dict[str, npt.NDArray[Any]]:
        """The outcome table of the slice up to now, an array per field of its `TaskOutcome`."""
        return self.world.outcomes(self.batch.own_states(0))

    def _info(self) -> dict[str, Any]:
        out, by_unit = self.batch.output, self._by_unit
        whole = self._unended
        if out.terminated[0]:
            whole = infos.upon_ends(out, by_unit, out.terminated)
        return infos.first(infos.of_decisions(out, by_unit) | whole)


_OPTIONS_OF_COLLECTORS = ("minari_autoseed",)
"""Options that Minari's collector reads itself and hands on."""


def chosen_slice(options: dict[str, Any] | None, slices: int) -> int:
    """The slice that reset options name, -1 for none. Raises ValueError."""
    options = options or {}
    unknown = [name for name in options if name not in ("slice", *_OPTIONS_OF_COLLECTORS)]
    if unknown:
        raise ValueError(f"options: unknown option {unknown[0]!r}, expected 'slice'")
    chosen = options.get("slice", -1)
    if "slice" in options and not (isinstance(chosen, int | np.integer) and 0 <= chosen < slices):
        raise ValueError(f"options: slice expected 0 to {slices - 1}, got {chosen!r}")
    return int(chosen)  # pyright: ignore[reportUnknownArgumentType]
