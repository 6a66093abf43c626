"""One run with a private teacher: train it once, distil from it for free, write the results."""

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from tqdm import tqdm

from experiments import teacher_distillation, teacher_reuse
from experiments.errors import InputError
from experiments.evaluation import registry
from experiments.evaluation.problem import Problem
from experiments.report import contents as report_contents
from experiments.report import page as report
from experiments.runs import metrics as run_metrics
from experiments.runs import pace, teacher_file
from experiments.runs import start as run_start
from experiments.runs.checkpoints import Checkpoints
from experiments.runs.folder import RunFolder
from experiments.teacher_plan import TeacherPlan, make_plan
from experiments.teacher_settings import TeacherSettings
from experiments.terminal import bar_style, print_guarantee
from jaxdp.kernels import krr, preprocess
from jaxdp.privacy import certificates
from jaxdp.privacy.ledger import FLOAT32_NOISE, OLD_NOISE
from jaxdp.privacy.mechanism import private_key

_SOURCES = {
    "teacher": "a private teacher",
    "embedding": "private class means",
    "both": "a private teacher and class means",
}
_SOURCES_WITH_IMAGES = {
    "embedding": "a private generator",
    "both": "a private teacher and a private generator",
}
_RELEASED = {
    "teacher": "the weights of the private teacher, with every checkpoint of its training",
    "embedding": "the noisy class means",
    "both": "the weights of the private teacher, with every checkpoint of its training, and the "
    "noisy class means",
}
_RELEASED_BESIDE_IMAGES = (
    f"{_RELEASED['teacher']}, together with the embedding that --synthetic was generated from"
)
_DERIVED = (
    "distilled.npz and distilled.png, which are computed from these alone",
    certificates.ACCOUNT,
    "anything computed from these without the private data",
)
_REUSED = (
    "what an earlier run released: this run has not used the private training data, and costs no "
    "privacy beyond that release"
)
_PUBLIC_FILES = (teacher_file.NAME, "distilled.npz", "distilled.png")
_CHECKPOINT_SECONDS = 60.0


def run(settings: TeacherSettings) -> None:
    """Run the driver from flags to files.

    Raises:
        InputError: bad input, a folder that is in use, a full disk or a diverged run.
    """
    plan = make_plan(settings)
    num_bytes = 64 * settings.ipc * plan.data.num_classes * plan.data.dim + 2**26
    old_noise = FLOAT32_NOISE if plan.uses_teacher else OLD_NOISE
    with run_start.started(
        plan, certificate_of(plan), num_bytes=num_bytes, old_noise=old_noise
    ) as run_of:
        _Run(plan, run_of).finish()
    _print_summary(run_of.folder, run_of.certificate)


def certificate_of(plan: TeacherPlan) -> dict[str, Any]:
    """Return the certificate: of what is to be released, or of what is used again."""
    if plan.earlier_certificate is not None:
        return run_start.reused(plan.earlier_certificate, plan.settings) | {"reused": _REUSED}
    covers, beside, objection = _RELEASED[plan.settings.match], {}, None
    if plan.synthetic is not None:
        covers = _RELEASED_BESIDE_IMAGES
        beside = {teacher_reuse.BESIDE: [plan.synthetic.digest]}
        objection = plan.synthetic.certificate["objection"]
    terms = run_start.terms(
        plan.settings,
        plan.data,
        covers=(f"{teacher_file.NAME}: {covers}", *_DERIVED),
        objection=objection,
    )
    assert plan.ledger is not None
    return certificates.certify(plan.ledger, terms) | beside


def _source(plan: TeacherPlan) -> str:
    """Return what images are distilled from, in words."""
    sources = _SOURCES if plan.synthetic is None else _SOURCES_WITH_IMAGES
    return sources[plan.settings.match]


class _Run:
    """A run in progress: its metrics and its folder."""

    def __init__(self, plan: TeacherPlan, run_of: run_start.Started) -> None:
        self._plan = plan
        self._folder, self._certificate, self._log = run_of
        self._metrics: dict[str, Any] = {
            "krr_test_accuracy": None,
            "krr_test_accuracy_before": None,
            "teacher_test_accuracy": None,
            "teacher_seconds": 0.0,
            "distill_seconds": 0.0,
            "train_seconds": 0.0,
            "device": run_start.device_name(),
            "finished": False,
        }
        stored = run_metrics.resumed(self._folder, {"teacher_seconds": 0.0})
        self._metrics["teacher_seconds"] = stored["teacher_seconds"]

    def finish(self) -> None:
        """Train the teacher, distil from it and write the results."""
        weights = means = None
        if self._plan.settings.draws_noise or self._plan.reused is not None:
            released = self._release()
            means = released.means
            if self._plan.uses_teacher:
                weights = jnp.asarray(released.weights)
                self._metrics["teacher_test_accuracy"] = self._plan.test_accuracy(weights)
        support = self._distil(weights, means)
        m = self._metrics
        m["train_seconds"] = m["teacher_seconds"] + m["distill_seconds"]
        self._write_results(np.asarray(support.x), np.asarray(support.y))

    def _release(self) -> teacher_file.TeacherFile:
        """Return what was released: by an earlier run, by this run before it was killed, or now."""
        plan, path = self._plan, self._folder.path / teacher_file.NAME
        self._log.require_unless_begun(teacher_file.NAME, "distilled.npz")
        if path.exists():
            return teacher_file.read(path)
        released = plan.reused
        if released is None:
            # Never stored: a resumed run draws fresh noise for the steps that it repeats.
            teacher_key, means_key = jax.random.split(private_key(plan.settings.noise_seed))
            weights = self._train_teacher(teacher_key) if plan.uses_teacher else None
            # Last, and written at once: a run that is killed has not released them.
            means = None if plan.means_multiplier is None else plan.release_means(means_key)
            shape = list(plan.data.shape)
            released = teacher_file.TeacherFile(
                weights, means, plan.map_config, shape, self._certificate
            )
        teacher_file.write(self._log, released)
        self._folder.write_json("metrics.json", self._metrics)
        return released

    def _train_teacher(self, key: jax.Array) -> np.ndarray:
        """Run DP-SGD on features of the training split, with checkpoints."""
        plan = self._plan
        started = time.monotonic()
        features = jnp.asarray(
            plan.features(plan.data.x_train, description="features, training split")
        )
        labels = jnp.asarray(plan.data.y_train)
        self._metrics["teacher_seconds"] += time.monotonic() - started
        algorithm = plan.make_teacher()
        state = algorithm.init(features.shape[1], plan.data.num_classes)
        # The same noise once more tells nothing new, and no noise has promised nothing.
        repeatable = plan.settings.noise_seed is not None or not plan.mechanism.is_private
        checkpoints = Checkpoints(self._folder.checkpoints, repeatable=repeatable)
        try:
            restored = checkpoints.restore(state)
            state = state if restored is None else restored
            if not repeatable:
                self._log.require_step(int(state.step))

            def advance(count: int) -> int:
                nonlocal state
                state = jax.block_until_ready(algorithm.update(state, key, features, labels, count))
                return int(state.step)

            def save(step: int) -> None:
                with self._log.saving(step):
                    checkpoints.save(step, state)
                self._folder.write_json("metrics.json", self._metrics)

            self._loop(
                "private teacher",
                "teacher_seconds",
                int(state.step),
                plan.mechanism.num_steps,
                advance,
                save,
            )
        finally:
            checkpoints.close()
        weights = np.asarray(state.average)
        if not np.all(np.isfinite(weights)):
            raise InputError(
                f"--learning_rate={plan.hyper.learning_rate}: the teacher has diverged; lower it"
            )
        return weights

    def _loop(
        self,
        name: str,
        clock: str,
        done: int,
        total: int,
        advance: Callable[[int], int],
        save: Callable[[int], None] | None = None,
    ) -> None:
        """Advance in slices of about a second under a progress bar, saving now and then."""
        length, saved_at = 1, time.monotonic()
        first = done
        with tqdm(total=total, initial=done, unit="step", desc=name, **bar_style()) as bar:
            while done < total:
                started = time.monotonic()
                done = advance(min(length, total - done))
                seconds = time.monotonic() - started
                self._metrics[clock] += seconds
                bar.update(done - bar.n)
                if done > first + 1:  # the first slice compiles
                    length = pace.next_length(length, seconds)
                if save and (done == total or time.monotonic() - saved_at > _CHECKPOINT_SECONDS):
                    save(done)
                    saved_at = time.monotonic()

    def _distil(self, weights: jax.Array | None, means: np.ndarray | None) -> Any:
        """Run the distillation, which starts anew in a resumed run: it is short and free."""
        plan = self._plan
        algorithm = teacher_distillation.make_distillation(plan, weights, means)
        state = algorithm.init(teacher_distillation.initial_support(plan))
        self._metrics["krr_test_accuracy_before"] = self._krr_accuracy(state.support)

        def advance(count: int) -> int:
            nonlocal state
            state = jax.block_until_ready(algorithm.update(state, count))
            return int(state.step)

        self._loop("distilling", "distill_seconds", 0, plan.hyper.distill_steps, advance)
        self._metrics["krr_test_accuracy"] = self._krr_accuracy(state.support)
        return state.support

    def _krr_accuracy(self, support: Any) -> float:
        try:
            return self._plan.krr_test_accuracy(support)
        except krr.NotPositiveDefiniteError as error:
            raise InputError(
                f"--distill_learning_rate={self._plan.hyper.distill_learning_rate}: distillation "
                f"has diverged ({error}); lower it or raise --ridge"
            ) from error

    def _write_results(self, rows: np.ndarray, y_s: np.ndarray) -> None:
        from experiments.report import pictures  # imports matplotlib: not before the first step

        plan, folder, data = self._plan, self._folder, self._plan.data
        labels = np.repeat(np.arange(data.num_classes), plan.settings.ipc).astype(np.int32)
        folder.write_npz(
            "distilled.npz",
            x=rows.reshape(-1, *data.shape),
            y=labels,
            y_scores=y_s,
            class_names=np.array(data.class_names),
            shift=np.float32(plan.scaling["shift"]),
            scale=np.float32(plan.scaling["scale"]),
        )
        stored = np.asarray(preprocess.unscale(jnp.asarray(rows), **plan.scaling))
        title = f"{data.name}, {plan.settings.ipc} per class, epsilon {plan.eps:g}"
        picture = pictures.image_grid_png(
            stored.reshape(-1, *data.shape),
            labels,
            data.class_names,
            low=data.scaling.low,
            high=data.scaling.high,
            title=f"{title}, from {_source(plan)}",
        )
        folder.write_bytes("distilled.png", picture)
        self._judge(rows, labels)
        self._metrics["finished"] = True
        folder.write_json("metrics.json", self._metrics)
        run_start.finish(folder, self._certificate, _PUBLIC_FILES)
        page = report.render_report(
            title=f"Distilled from {_source(plan)}: {title}",
            config=folder.read_json("config.json") or {},
            metrics=self._metrics,
            privacy=folder.read_json("privacy.json") or {},
            picture_png=picture,
            curve_png=None,
            contents=report_contents.TAUGHT
            if (folder.path / teacher_file.NAME).exists()
            else report_contents.DISTILLED,
        )
        folder.write_bytes("report.html", page.encode())

    def _judge(self, rows: np.ndarray, labels: np.ndarray) -> None:
        """Judge the result by what `--evaluate` names."""
        plan, data = self._plan, self._plan.data
        if not plan.evaluators:
            return
        problem = Problem(
            x=rows.reshape(-1, *data.shape),
            y=labels,
            x_test=(data.x_test.astype(np.float32) - plan.scaling["shift"]) / plan.scaling["scale"],
            y_test=data.y_test,
            num_classes=data.num_classes,
        )
        self._metrics["evaluation"] = registry.evaluate(plan.evaluators, problem)


def _print_summary(folder: RunFolder, certificate: dict[str, Any]) -> None:
    metrics = folder.read_json("metrics.json") or {}
    teacher = metrics["teacher_test_accuracy"]
    print(
        f"KRR test accuracy {metrics['krr_test_accuracy']:.2%} "
        f"(before: {metrics['krr_test_accuracy_before']:.2%}"
        f"{'' if teacher is None else f'; the teacher: {teacher:.2%}'})"
    )
    for name, result in metrics.get("evaluation", {}).items():
        print(registry.as_line(name, result))
    print_guarantee(certificate)
    if "reused" in certificate:
        print(certificate["reused"])
    print(f"results: {folder.path}/report.html")
