"""Compares the search policies on made-up landscapes: ``python benchmarks/policies.py [--runs N] [--steps N …]``.

A landscape has families of models with different ceilings. A draft starts somewhere below its family's ceiling, an
improvement closes a part of the gap or loses a little, programs fail, some failures cannot be fixed, and the number
that the search sees is noisy. What counts is the true score of the candidate that looks best, after each step, between
that of a blind guess (0) and that of the best family's ceiling (1), averaged over the steps.

Nothing here is fitted to a real task, so the ratio says that a rule helps under such conditions, not how much it
helps on a given data set. The landscapes are varied on purpose (noise, failures, few or many families, worthless
blends), and both policies meet the same ones with the same seeds.

Measured with --runs 400 on seeds that the constants had not seen: in the mean best-so-far ``default`` is ahead in each
of the 33 conditions, by 1.6 % on average (0.4 % over 10 steps, 3.0 % over 50). After the last step it is ahead by 3.7 %
on average, and behind by half a percent in two: 10 steps where blends are worthless or lose.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from statistics import fmean, stdev

from aide_jupyter import records as r
from aide_jupyter.search.policy import Aide, Choice, Default, Policy
from aide_jupyter.state import RunState


@dataclass(frozen=True)
class Landscape:
    """How the author and the task behave. Probabilities, and standard deviations in units of the score."""

    name: str
    families: int = 8
    spread: float = 0.15
    draft_gap: float = 0.25
    gain: float = 0.4
    fails: float = 0.3
    hopeless: float = 0.3
    fixed: float = 0.6
    noise: float = 0.01
    differs: tuple[float, float] = (0.6, 0.6)
    blend: float = 0.01


STANDARD = Landscape("standard")
LANDSCAPES = (
    STANDARD,
    replace(STANDARD, name="drafts told to differ", differs=(0.6, 0.9)),
    replace(STANDARD, name="worthless blends", blend=0.0),
    replace(STANDARD, name="blends that lose", blend=-0.02),
    replace(STANDARD, name="noisy scores", noise=0.03),
    replace(STANDARD, name="fragile programs", fails=0.6),
    replace(STANDARD, name="robust programs", fails=0.05),
    replace(STANDARD, name="hard bugs", hopeless=0.7, fixed=0.3),
    replace(STANDARD, name="alike families", spread=0.03),
    replace(STANDARD, name="two families", families=2),
    replace(STANDARD, name="slow gains", gain=0.15),
)


@dataclass
class Program:
    """What is true of a candidate and hidden from the search."""

    family: int
    score: float
    error: str | None
    hopeless: bool


class World:
    """One landscape with one seed, as the author model and the grader of a run."""

    def __init__(self, landscape: Landscape, seed: int, told: bool) -> None:
        self.land, self.random = landscape, random.Random(f"world {seed}")
        self.ceilings = [self.random.gauss(0.7, landscape.spread / 2) for _ in range(landscape.families)]
        self.differs = landscape.differs[told]
        self.programs: dict[str, Program] = {}
        self.mistakes = 0

    def write(self, choice: Choice, state: RunState, candidate: str) -> Program:
        """What the author makes of a choice."""
        if choice.operator == "draft" or choice.parent is None:
            program = self._draft()
        elif choice.operator == "debug":
            program = self._fix(self.programs[choice.parent])
        elif choice.operator == "improve":
            program = self._improve(self.programs[choice.parent])
        else:
            program = self._blend([self.programs[one] for one in state.lines.values()])
        self.programs[candidate] = program
        return program

    def _draft(self) -> Program:
        used = {program.family for program in self.programs.values()}
        fresh = [one for one in range(self.land.families) if one not in used]
        told = fresh and self.random.random() < self.differs
        family = self.random.choice(fresh if told else range(self.land.families))
        return self._perhaps_fails(family, self.ceilings[family] - self.random.uniform(0.02, self.land.draft_gap))

    def _improve(self, parent: Program) -> Program:
        score = parent.score
        if self.random.random() < self.land.gain:
            score += max(0.0, self.ceilings[parent.family] - score) * self.random.uniform(0, 0.6)
        else:
            score -= abs(self.random.gauss(0, 0.02))
        return self._perhaps_fails(parent.family, score)

    def _blend(self, parts: list[Program]) -> Program:
        parts = sorted(parts, key=lambda one: -one.score)[:3]
        kinds = len({one.family for one in parts})
        return self._perhaps_fails(
            parts[0].family, parts[0].score + (kinds - 1) * self.random.uniform(0, self.land.blend)
        )

    def _perhaps_fails(self, family: int, score: float) -> Program:
        if self.random.random() >= self.land.fails:
            return Program(family, score, None, False)
        self.mistakes += 1
        return Program(
            family, score, f"mistake {chr(97 + self.mistakes % 26)}", self.random.random() < self.land.hopeless
        )

    def _fix(self, broken: Program) -> Program:
        if not broken.hopeless and self.random.random() < self.land.fixed:
            return Program(broken.family, broken.score, None, False)
        same = self.random.random() < (0.8 if broken.hopeless else 0.4)
        self.mistakes += 1
        return replace(broken, error=broken.error if same else f"mistake {chr(97 + self.mistakes % 26)}")


class Run:
    """A run without an engine: it writes the records that an engine would."""

    def __init__(self, steps: int) -> None:
        self.state = RunState()
        task = r.Task(goal="g", direction="maximize", direction_source="s")
        data = r.DataView(source="s", sha256="0" * 64, files=0, bytes=0, manifest="")
        budgets, settings = r.Budgets(steps=steps), r.Settings()
        self.record(
            r.Opened(
                task=task, policy="p", seed=0, mode="auto", budgets=budgets, settings=settings, grants=r.Grants(),
                data=data, versions={}, key="k",
            )
        )  # fmt: skip

    def record(self, body: r.Body) -> None:
        """Let a body take effect."""
        record = r.Record.model_construct(
            v=1, run="run", seq=self.state.head_seq + 1, time="2026-01-01T00:00:00.000000Z", kind=body.kind,
            actor=r.SYSTEM, data=r.body_data(body), prev="", hash="", signature="",
        )  # fmt: skip
        self.state.take(record)

    def step(self, choice: Choice, world: World) -> None:
        """One candidate's life."""
        candidate = f"c{len(self.state.candidates) + 1:04d}"
        self.record(r.Chosen(candidate=candidate, parent=choice.parent, operator=choice.operator))
        program = world.write(choice, self.state, candidate)
        self.record(r.Proposed(candidate=candidate, plan="", code="x"))
        claimed, status = r.Claimed(reply="ok"), "ok"
        if program.error is not None:
            error = r.ErrorOutput(name="ValueError", message=program.error, traceback="")
            claimed, status = r.Claimed(reply="error", outputs=(error,)), "error"
        finished = {"candidate": candidate, "status": status, "observed": r.Observed(seconds=1), "claimed": claimed}
        self.record(r.Finished.model_validate(finished))
        seen = None if program.error else program.score + world.random.gauss(0, world.land.noise)
        self.record(r.Graded(candidate=candidate, source="reported", value=seen))
        self.record(r.Reviewed(candidate=candidate, failed=program.error is not None, summary=""))


def scores(policy: Policy, landscape: Landscape, seed: int, steps: int) -> Iterator[float]:
    """The true score of what looks best, after each step; 0 is a blind guess (0.4), 1 the best ceiling."""
    world = World(landscape, seed, told=policy.name != "aide")
    run = Run(steps)
    top = max(world.ceilings)
    for number in range(1, steps + 1):
        run.step(policy.choose(run.state, random.Random(f"{seed}:{number}")), world)
        best = run.state.best
        yield 0.0 if best is None else max(0.0, (world.programs[best].score - 0.4) / (top - 0.4))


def main() -> None:
    """Print one line per landscape and length."""
    options = argparse.ArgumentParser(description="Compare the policies aide and default on made-up landscapes.")
    options.add_argument("--runs", type=int, default=200)
    options.add_argument("--first-seed", type=int, default=1000, help="the constants were chosen on seeds below 100")
    options.add_argument("--steps", type=int, nargs="+", default=[10, 20, 50])
    chosen = options.parse_args()
    print("landscape                steps    aide  default   ratio  ± 2 se  last: aide  default")
    ratios, last_ratios = [], []
    for landscape in LANDSCAPES:
        for steps in chosen.steps:
            pairs = [
                [list(scores(policy, landscape, seed, steps)) for policy in (Aide(), Default())]
                for seed in range(chosen.first_seed, chosen.first_seed + chosen.runs)
            ]
            aide, ours = (fmean(fmean(pair[which]) for pair in pairs) for which in (0, 1))
            error = 2 * stdev(fmean(pair[1]) - fmean(pair[0]) for pair in pairs) / chosen.runs**0.5 / aide
            last = [fmean(pair[which][-1] for pair in pairs) for which in (0, 1)]
            ratios.append(ours / aide)
            last_ratios.append(last[1] / last[0])
            print(
                f"{landscape.name:24} {steps:5} {aide:7.3f} {ours:8.3f} {ours / aide:7.3f} {error:7.3f} "
                f"{last[0]:11.3f} {last[1]:8.3f}"
            )
    print(
        f"default / aide over {len(ratios)} conditions of {chosen.runs} runs: "
        f"mean best-so-far {fmean(ratios):.3f}, after the last step {fmean(last_ratios):.3f}"
    )


if __name__ == "__main__":
    main()
