"""One run of a method, from flags to files: release once, finish for free, judge, report."""

import dataclasses
import math
import sys
from typing import Any

import numpy as np

from jaxdp import processes
from jaxdp.data import TableCodec
from jaxdp.methods import facts as data_facts
from jaxdp.methods import record
from jaxdp.methods.base import Plan
from jaxdp.methods.made import QUALITY, Classifier, Made
from jaxdp.methods.runner import PlainRunner
from jaxdp.methods.settings import SettingsError
from jaxdp.privacy.mechanism import private_key
from jaxdp.program.data.dataset import Dataset
from jaxdp.program.data.load import dataset_for, require_range
from jaxdp.program.evaluation import registry
from jaxdp.program.evaluation.figures import Prediction, figures
from jaxdp.program.runs import (
    before,
    before_data,
    cautions,
    ceiling,
    expected_curve,
    judging,
    released,
    summary,
)
from jaxdp.program.runs import start as run_start
from jaxdp.program.runs.expected_curve import Curve
from jaxdp.program.runs.planning import (
    checked,
    earlier_of,
    package_of,
    postponed,
    with_preset,
)
from jaxdp.program.runs.runner import METRICS, FolderRunner, first_metrics
from jaxdp.program.runs.schema_purchase import REUSED, SchemaBuyer
from jaxdp.saved import public_cache


def run(method: Any, settings: Any, run_flags: Any, data: Dataset | None = None) -> None:
    """Run a method.

    Args:
        method: the name of one of `jaxdp.methods`, or what has the names of a method.
        settings: of the method, as given.
        run_flags: of the run.
        data: that the flags name, where they have been read.

    Raises:
        SettingsError: bad input, a folder that is in use, a full disk or a diverged run.
    """
    if data is None:
        if not processes.are_several():
            before_data.check(run_flags, settings)
        given = (flag for flag in REUSED if getattr(run_flags, flag, None) is not None)
        counts = method == "marginals"
        buyer = SchemaBuyer(
            *(run_flags, settings, counts, next(given, None)),
            complete_settings=package_of(method).complete,
        )
        data = dataset_for(run_flags, seed=settings.seed, completes=buyer)
    try:
        processes.own_part(data.spec.num_examples)
    except processes.TooFewRowsError as error:
        raise SettingsError(str(error)) from error
    if not processes.is_first():
        _share(method, settings, run_flags, data)
        return
    ready = checked(method, settings, run_flags, data.spec)
    announcement = before.Announcement(
        method, ready.settings, run_flags, data.spec, data.test, data.notes
    )
    # Its public maps are computed when nothing is left that can be refused.
    plan, begun = postponed(ready, watch=announcement.watch)
    folder = ready.folder
    judges = judging.chosen(plan, run_flags, num_test=len(data.test.y))
    if plan.story.needs_range or registry.needs_range(judges):
        require_range(data)
    compares = run_flags.check_fidelity or run_flags.ceiling
    if compares or getattr(run_flags, "check_copies", False):
        folder.require_not_for_release()
    facts = {"data_source": data.source} | _facts(plan, run_flags)
    facts[data_facts.KEY] = data_facts.to_json(data.spec)
    left = {name for name, value in dataclasses.asdict(settings).items() if value is None}
    with run_start.started(plan, run_flags, folder, facts, open_before=left) as started:
        announcement.say()
        run_in_progress = _Run(method, begun(), run_flags, data, judges, started)
        if plan.story.notice:
            print(plan.story.notice, file=sys.stderr)
        run_in_progress.finish()
    summary.show(folder, started.certificate, data.spec.class_names, said=announcement.warnings)


def _share(method: Any, settings: Any, run_flags: Any, data: Dataset) -> None:
    """Take part in the release of the first process, if it makes one; leave the rest to it."""
    package = package_of(method)
    settings = with_preset(settings, run_flags, data.spec)
    earlier = earlier_of(package, settings, run_flags, data.spec)
    complete = package.complete(settings, data.spec, earlier)
    plan: Plan[Any] = package.make_plan(complete, data.spec, earlier, cached=public_cache.cached)
    if processes.told(False):
        plan.release(data.private, private_key(), PlainRunner(progress=False))


def _facts(plan: Plan[Any], run_flags: Any) -> dict[str, Any]:
    """Return what config.json tells of a run that a resumption may change."""
    if hasattr(run_flags, "eval_every"):
        return {"eval_every": run_flags.eval_every or math.ceil(plan.settings.steps / 10)}
    if plan.story.kind == "distilled":
        return {}
    chosen = {name: getattr(plan.settings, name, None) for name in ("candidates", "flow_passes")}
    told = {name: value for name, value in chosen.items() if value is not None}
    return {"num_synthetic": plan.story.num_made} | told


class _Run:
    """A run in progress: its folder, its runner and its metrics."""

    def __init__(
        self,
        method: Any,
        plan: Plan[Any],
        run_flags: Any,
        data: Dataset,
        judges: tuple[str, ...],
        started: run_start.Started,
    ) -> None:
        self._method, self._plan, self._flags = method, plan, run_flags
        self._data, self._judges = data, judges
        self._folder, self._certificate, self._log = started
        self._metrics = first_metrics(plan, self._folder, run_start.device_name())
        self._test_rows: np.ndarray | None = None
        self._has_released = False
        self._figures: dict[str, Any] = {}
        self._runner = FolderRunner(
            plan,
            self._folder,
            self._log,
            self._metrics,
            self._accuracy,
            every=getattr(run_flags, "eval_every", None),
            feature_cache=getattr(run_flags, "feature_cache", None),
        )

    def _accuracy(self, result: Any) -> float:
        """Return the accuracy of a method's own classifier on the test split."""
        return float(np.mean(np.argmax(self._scores(result)[1], axis=1) == self._data.test.y))

    def _figures_of(self, result: Any) -> dict[str, Any]:
        """Return what else is told of it: see `figures.figures`."""
        own, scores = self._scores(result)
        prediction = Prediction(np.argmax(scores, axis=1), own.probabilities(scores))
        return figures(self._data.test.y, [prediction], judging.num_classes(self._plan))

    def _scores(self, result: Any) -> tuple[Classifier, np.ndarray]:
        """Return a method's own classifier, and its scores (t, c) on the test split."""
        own, x = self._plan.classifier(result, self._runner), self._data.test.x
        if self._test_rows is None:
            self._test_rows = own.features(x.reshape(len(x), -1), "features of the test split")
        return own, own.scores(self._test_rows)

    def finish(self) -> None:
        """Release, or take what was released; make what is made of it; write the results."""
        plan, metrics, story = self._plan, self._metrics, self._plan.story
        result = self._released()
        if not self._has_released:
            processes.told(False)
        if plan.story.released_metric is not None:
            metrics[plan.story.released_metric] = self._accuracy(result)
            self._figures["teacher"] = self._figures_of(result)
        with self._runner.clocked(story.finish_clock):
            made = plan.finish(result, self._runner)
        clocks = {story.release_clock, story.finish_clock}
        if "train_seconds" not in clocks:
            metrics["train_seconds"] = sum(metrics[clock] for clock in clocks)
        self._write(made)

    def _released(self) -> Any:
        """Return what was released: by an earlier run, by this one before it was killed, or now.

        It is on disk before it is used.
        """
        plan, story = self._plan, self._plan.story
        form = plan.form
        if form is None or story.released is None:
            if plan.ledger is not None and plan.ledger.releases:
                # Steps are noted one by one; a single release that is not kept would be made again.
                raise ValueError(f"{type(plan).__name__} releases once and does not keep it")
            return self._release()
        stored = plan.earlier.stored
        if stored is None and plan.ledger is None:
            return form.nothing
        path = self._folder.path / story.released
        after = ("checkpoints",) if story.kind == "generated" else ()
        self._log.require_unless_begun(story.released, f"{story.result}.npz", *after)
        if path.exists():
            return released.read(path, form).released
        # What is used again is written as it is, certificate included.
        found = stored or record.as_stored(plan, form, self._release(), self._certificate)
        released.write(self._log, story.released, form, found)
        self._folder.write_json(METRICS, self._metrics)
        return found.released

    def _release(self) -> Any:
        self._has_released = bool(processes.told(True))
        # The key is never stored: a resumed run draws fresh noise for the steps that it repeats.
        key = private_key(self._plan.settings.noise_seed)
        with self._runner.clocked(self._plan.story.release_clock):
            return self._plan.release(self._data.private, key, self._runner)

    def _expected(self) -> Curve | None:
        """Return what such a run was likely to reach over epsilon; None where nobody can say."""
        if not isinstance(self._method, str) or self._plan.earlier.stored is not None:
            return None
        settings = self._plan.settings
        return expected_curve.of_run(self._method, settings, self._plan.spec)

    def _picture(self, made: Made) -> bytes:
        """Return a picture of what was made, as PNG."""
        from jaxdp.program.report import pictures
        from jaxdp.program.report.tables import table_png

        codec, title = self._plan.spec.codec, self._plan.story.picture_title
        if isinstance(codec, TableCodec):
            return table_png(made.x, made.y, codec, made.class_names, title=title)
        return pictures.image_grid_png(
            made.x, made.y, made.class_names, low=codec.low, high=codec.high, title=title
        )

    def _write(self, made: Made) -> None:
        # Not before the first step: these import matplotlib, and networks that a run may not have.
        from jaxdp.program.report import curves
        from jaxdp.program.report import page as report
        from jaxdp.program.runs import generator_file
        from jaxdp.saved.classifier import support_of

        plan, folder, story = self._plan, self._folder, self._plan.story
        if made.generator is not None:
            generator_file.write(folder, made.generator)
        folder.write_npz(f"{made.name}.npz", **made.arrays)
        if made.quality is not None:
            folder.write_json(QUALITY, dict(made.quality))
            self._metrics["quality"] = dict(made.quality)
        if isinstance(plan.spec.codec, TableCodec):
            folder.write_bytes(f"{made.name}.csv", plan.spec.codec.schema.csv.encode(made.to_csv()))
        picture = self._picture(made)
        folder.write_bytes(story.picture, picture)
        self._metrics |= judging.judged(self._judges, plan, made, self._data.test, self._flags)
        if "krr_test_accuracy" in self._metrics:
            support = support_of(made.arrays, plan.spec)
            self._figures = {"krr": self._figures_of(support), **self._figures}
        if self._figures:
            self._metrics["figures"] = self._figures
        self._metrics["warnings"] = cautions.of_run(
            self._method, plan, self._flags, self._data.test, self._metrics, made
        )
        if getattr(self._flags, "check_copies", False):
            judging.write_copies(made, self._data.private, self._data.test.x, folder)
        self._metrics["finished"] = True
        folder.write_json(METRICS, self._metrics)
        public = (story.released, f"{made.name}.npz", f"{made.name}.csv", story.picture, QUALITY)
        there = tuple(name for name in public if name and (folder.path / name).exists())
        left = (*there, generator_file.DESCRIPTION)
        self._log.finish(run_start.finish(folder, self._certificate, left))
        folder.write_card(record.card_of(plan, made, self._certificate, there))
        config = folder.read_json("config.json") or {}
        page = report.render_report(
            title=story.page_title,
            config={key: value for key, value in config.items() if key != data_facts.KEY},
            metrics=self._metrics,
            privacy=folder.read_json("privacy.json") or {},
            picture_png=picture,
            curve_png=curves.curve_png(self._metrics.get("history"), story.watched),
            story=story,
            files={path.name for path in folder.path.iterdir()},
            class_names=made.class_names,
            expected=self._expected(),
        )
        folder.write_bytes("report.html", page.encode())
        if self._flags.check_fidelity:
            judging.write_fidelity(
                *(made, self._data.private, self._data.test, folder, self._flags),
                seed=plan.settings.seed,
            )
        if self._flags.ceiling:
            ceiling.write_ceiling(plan, self._data.private, self._data.test, folder)
