"""One DP-KIP run: distil with checkpoints, evaluate on the way, write the results."""

import sys
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from tqdm import tqdm

from experiments.data import npz as npz_files
from experiments.errors import InputError
from experiments.evaluation import registry
from experiments.evaluation.problem import Problem
from experiments.plan import Plan, make_plan
from experiments.report import page as report
from experiments.runs import metrics as run_metrics
from experiments.runs import pace
from experiments.runs import start as run_start
from experiments.runs.checkpoints import Checkpoints, DamagedError
from experiments.runs.folder import RunFolder
from experiments.settings import Settings
from experiments.terminal import bar_style, print_guarantee
from jaxdp.kernels import krr, preprocess
from jaxdp.methods import dp_kip
from jaxdp.privacy import certificates
from jaxdp.privacy.ledger import FLOAT32_NOISE, OLD_NOISE
from jaxdp.privacy.mechanism import private_key

_RESULT = "distilled.npz"
_COVERS = (
    "distilled.npz and distilled.png: the distilled images (their labels are fixed beforehand)",
    "every checkpoint in checkpoints/, in whatever number",
    certificates.ACCOUNT,
    "anything computed from these without the private data",
)
_CHECKPOINT_SECONDS = 60.0


def run(settings: Settings) -> None:
    """Run the driver from flags to files.

    Raises:
        InputError: bad input, a folder that is in use, a full disk or a diverged run.
    """
    plan = make_plan(settings)
    state = plan.initial_state()
    num_bytes = 4 * sum(leaf.nbytes for leaf in jax.tree.leaves(state)) + 2**24
    exact = plan.kernel.dot_product is not None or plan.kernel.features is not None
    with run_start.started(
        plan,
        _certificate(plan),
        num_bytes=num_bytes,
        old_noise=OLD_NOISE if exact else FLOAT32_NOISE,
    ) as run_of:
        if plan.cost is not None:
            print(plan.cost, file=sys.stderr)
        # The same noise once more tells nothing new, and no noise has promised nothing.
        repeatable = settings.noise_seed is not None or not plan.mechanism.is_private
        checkpoints = Checkpoints(run_of.folder.checkpoints, repeatable=repeatable)
        try:
            _Run(plan, run_of, checkpoints, state).finish()
        finally:
            checkpoints.close()
    _print_summary(run_of.folder, run_of.certificate)


def _certificate(plan: Plan) -> dict[str, Any]:
    terms = run_start.terms(plan.settings, plan.data, covers=_COVERS)
    certificate = certificates.certify(plan.ledger, terms)
    return certificate | {"clip_space": plan.settings.resolved_clip_space()}


def test_accuracy(plan: Plan, state: dp_kip.KIPState) -> float:
    """Return the KRR accuracy of a state's result on the test split.

    Raises:
        InputError: the support has diverged.
    """
    try:
        scores = plan.test_scores(state.average, state.support.y)
    except krr.NotPositiveDefiniteError as error:
        raise InputError(
            f"--learning_rate={plan.hyper.learning_rate}: the run has diverged ({error}); lower "
            f"it or raise --ridge={plan.hyper.ridge}"
        ) from error
    return float(krr.accuracy(scores, jnp.asarray(plan.data.y_test)))


class _Run:
    """A run in progress: its state, its metrics and its folder."""

    def __init__(
        self,
        plan: Plan,
        run_of: run_start.Started,
        checkpoints: Checkpoints,
        state: dp_kip.KIPState,
    ) -> None:
        self._plan, self._checkpoints, self._state = plan, checkpoints, state
        self._folder, self._certificate, self._log = run_of
        self._metrics = self._first_metrics()
        restored = self._restored(state)
        if restored is not None:
            self._state = restored
            self._continue_metrics()
        if not self._checkpoints.repeatable:
            self._log.require_step(self._step)

    def _restored(self, template: dp_kip.KIPState) -> dp_kip.KIPState | None:
        """Return the newest state, or that of a finished run's results where it is damaged."""
        try:
            return self._checkpoints.restore(template)
        except DamagedError as damaged:
            path = self._folder.path / _RESULT
            if not path.exists():
                raise
            try:
                rows = npz_files.load(path, ("x",))["x"].reshape(template.average.shape)
            except (KeyError, ValueError) as error:
                raise damaged from error
            print(f"WARNING: {damaged}. The run is whole: {_RESULT} is used", file=sys.stderr)
            step = jnp.full_like(template.step, self._total)
            return template._replace(step=step, average=jnp.asarray(rows))

    @property
    def _step(self) -> int:
        return int(self._state.step)

    @property
    def _total(self) -> int:
        return self._plan.mechanism.num_steps

    def _first_metrics(self) -> dict[str, Any]:
        before = test_accuracy(self._plan, self._state)
        return {
            "krr_test_accuracy": before,
            "krr_test_accuracy_before": before,
            "train_seconds": 0.0,
            "device": run_start.device_name(),
            "finished": False,
            "history": [{"step": 0, "krr_test_accuracy": before}],
        }

    def _continue_metrics(self) -> None:
        """Take up the metrics of the interrupted run, without points after its checkpoint."""
        self._metrics = run_metrics.resumed(self._folder, self._metrics, point="krr_test_accuracy")
        history = [point for point in self._metrics["history"] if point["step"] <= self._step]
        self._metrics["history"] = history
        if self._due and (not history or history[-1]["step"] < self._step):
            self._evaluate()  # killed before it was evaluated

    @property
    def _due(self) -> bool:
        """Whether an evaluation is due at this step."""
        return self._step % self._plan.eval_every == 0 or self._step == self._total

    def finish(self) -> None:
        """Run the steps that are left and write the results."""
        # Never stored: a resumed run draws fresh noise for the steps that it repeats.
        key = private_key(self._plan.settings.noise_seed)
        x_t, labels = self._plan.targets, jnp.asarray(self._plan.data.y_train)
        total, initial = self._total, self._step
        length = 1  # of the next slice: the first one compiles, later ones take about a second
        saved_at = time.monotonic()
        with tqdm(
            total=total, initial=initial, unit="step", desc="distilling", **bar_style()
        ) as bar:
            while self._step < total:
                seconds = self._advance(key, x_t, labels, length)
                bar.update(self._step - bar.n)
                if bar.n > initial + 1:
                    length = pace.next_length(length, seconds)
                if self._due or time.monotonic() - saved_at > _CHECKPOINT_SECONDS:
                    # Before anything about the state is shown, so that a repeated step never
                    # follows a look at its first outcome.
                    with self._log.saving(self._step):
                        self._checkpoints.save(self._step, self._state)
                    saved_at = time.monotonic()
                if self._due:
                    self._evaluate()
        self._write_results()

    def _advance(self, key: jax.Array, x_t: jax.Array, labels: jax.Array, length: int) -> float:
        """Run up to `length` steps, not past an evaluation; return the seconds they took."""
        until_evaluation = self._plan.eval_every - self._step % self._plan.eval_every
        started = time.monotonic()
        self._state = self._plan.kip.update(
            self._state, key, x_t, labels, min(length, until_evaluation)
        )
        jax.block_until_ready(self._state)
        seconds = time.monotonic() - started
        self._metrics["train_seconds"] += seconds
        return seconds

    def _evaluate(self) -> None:
        accuracy = test_accuracy(self._plan, self._state)
        self._metrics["krr_test_accuracy"] = accuracy
        self._metrics["history"].append({"step": self._step, "krr_test_accuracy": accuracy})
        self._metrics["finished"] = self._step == self._total
        self._folder.write_json("metrics.json", self._metrics)

    def _write_results(self) -> None:
        from experiments.report import pictures  # imports matplotlib: not before the first step

        plan, folder, data = self._plan, self._folder, self._plan.data
        rows = np.asarray(self._state.average)
        labels = np.asarray(jnp.argmax(self._state.support.y, axis=1), np.int32)
        folder.write_npz(
            _RESULT,
            x=rows.reshape(-1, *data.shape),
            y=labels,
            class_names=np.array(data.class_names),
            shift=np.float32(plan.scaling["shift"]),
            scale=np.float32(plan.scaling["scale"]),
        )
        title = f"{data.name}, {plan.settings.ipc} per class, epsilon {plan.settings.eps:g}"
        stored = np.asarray(preprocess.unscale(self._state.average, **plan.scaling))
        picture = pictures.image_grid_png(
            stored.reshape(-1, *data.shape),
            labels,
            data.class_names,
            low=data.scaling.low,
            high=data.scaling.high,
            title=title,
        )
        folder.write_bytes("distilled.png", picture)
        self._judge(rows, labels)
        folder.write_json("metrics.json", self._metrics)
        run_start.finish(folder, self._certificate, (_RESULT, "distilled.png"))
        folder.write_bytes("report.html", self._report(f"DP-KIP: {title}", picture).encode())

    def _judge(self, rows: np.ndarray, labels: np.ndarray) -> None:
        """Judge the result by what `--evaluate` names."""
        plan, data = self._plan, self._plan.data
        if not plan.evaluators:
            return
        x_test = jnp.asarray(data.x_test.reshape(len(data.x_test), -1))
        scaled = np.asarray(preprocess.scale(x_test, **plan.scaling))
        low, high = data.scaling.bounds
        problem = Problem(
            x=rows.reshape(-1, *data.shape),
            y=labels,
            x_test=scaled.reshape(data.x_test.shape),
            y_test=data.y_test,
            num_classes=data.num_classes,
            low=low,
            high=high,
        )
        self._metrics["evaluation"] = registry.evaluate(plan.evaluators, problem)

    def _report(self, title: str, picture: bytes) -> str:
        from experiments.report import pictures

        history = self._metrics["history"]
        curve = pictures.accuracy_curve_png(
            [point["step"] for point in history],
            [point["krr_test_accuracy"] for point in history],
        )
        return report.render_report(
            title=title,
            config=self._folder.read_json("config.json") or {},
            metrics=self._metrics,
            privacy=self._folder.read_json("privacy.json") or {},
            picture_png=picture,
            curve_png=curve,
        )


def _print_summary(folder: RunFolder, certificate: dict[str, Any]) -> None:
    metrics = folder.read_json("metrics.json") or {}
    print(
        f"KRR test accuracy {metrics['krr_test_accuracy']:.2%} "
        f"(before: {metrics['krr_test_accuracy_before']:.2%})"
    )
    for name, result in metrics.get("evaluation", {}).items():
        print(registry.as_line(name, result))
    print_guarantee(certificate)
    print(f"results: {folder.path}/report.html")
