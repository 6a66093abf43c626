"""One generating run: release the embedding once, train on it, draw and judge the result."""

import dataclasses
import json
import time
from typing import Any

import jax
import numpy as np
from tqdm import tqdm

from experiments.drawing import as_stored, balanced_labels, draw_rows
from experiments.errors import InputError
from experiments.evaluation import registry
from experiments.evaluation.problem import Problem
from experiments.evaluation.recipe import for_generated
from experiments.ntk_plan import NtkPlan, make_plan
from experiments.ntk_settings import NtkSettings
from experiments.report import contents as report_contents
from experiments.report import page as report
from experiments.runs import metrics as run_metrics
from experiments.runs import released_file
from experiments.runs import start as run_start
from experiments.runs.checkpoints import Checkpoints, files_digest, save_tree
from experiments.runs.folder import RunFolder
from experiments.terminal import bar_style, print_guarantee
from jaxdp.methods import dp_ntk
from jaxdp.privacy import certificates

_COVERS = (
    "embedding.npz: the noisy mean embedding, and the noisy class weights where there are any",
    "generator/ and checkpoints/: the generator; synthetic.npz and samples.png: what it has drawn; "
    "any number of further examples from it",
    certificates.ACCOUNT,
    "anything computed from these without the private data",
)
_REUSED = (
    "an embedding that an earlier run released: this run has not used the private training data, "
    "and costs no privacy beyond that release"
)
_PUBLIC_FILES = (released_file.NAME, "synthetic.npz", "samples.png")
_CHECKPOINT_SECONDS = 60.0
_POINTS = 40


def run(settings: NtkSettings) -> None:
    """Run the driver from flags to files.

    Raises:
        InputError: bad input, a folder that is in use, a full disk or a diverged run.
    """
    plan = make_plan(settings)
    state = plan.initial_state()
    synthetic = settings.num_synthetic * plan.data.dim
    num_bytes = 4 * _num_bytes(state) + 4 * plan.num_classes * plan.features.dim + synthetic
    with run_start.started(plan, certificate_of(plan), num_bytes=num_bytes) as run_of:
        # Training is computed from what was released: again it gives the same, at no cost.
        checkpoints = Checkpoints(run_of.folder.checkpoints, repeatable=True)
        try:
            _Run(plan, run_of, checkpoints, state).finish()
        finally:
            checkpoints.close()
    _print_summary(run_of.folder, run_of.certificate)


def _num_bytes(tree: Any) -> int:
    return sum(leaf.nbytes for leaf in jax.tree.leaves(tree))


def certificate_of(plan: NtkPlan) -> dict[str, Any]:
    """Return the certificate: of the releases to come, or of the embedding that is used again."""
    if plan.reused is not None:
        return run_start.reused(plan.reused.certificate, plan.settings) | {"reused": _REUSED}
    assert plan.ledger is not None
    return certificates.certify(
        plan.ledger, run_start.terms(plan.settings, plan.data, covers=_COVERS)
    )


class _Run:
    """A run in progress: the released embedding, the generator and its metrics."""

    def __init__(
        self,
        plan: NtkPlan,
        run_of: run_start.Started,
        checkpoints: Checkpoints,
        state: dp_ntk.GeneratorState,
    ) -> None:
        self._plan, self._checkpoints = plan, checkpoints
        self._folder, self._certificate, self._log = run_of
        first: dict[str, Any] = {
            "embedding_distance": None,
            "embedding_seconds": 0.0,
            "train_seconds": 0.0,
            "device": run_start.device_name(),
            "finished": False,
            "history": [],
        }
        self._metrics = run_metrics.resumed(self._folder, first, point="embedding_distance")
        self._released = self._release()
        restored = checkpoints.restore(state)
        self._state = state if restored is None else restored
        history = self._metrics["history"]
        self._metrics["history"] = [p for p in history if p["step"] <= int(self._state.step)]

    def _release(self) -> dp_ntk.Released:
        """Return the embedding: that of an earlier run, that of this run, or a new release.

        It is on disk before it is used. A run that is killed earlier has released nothing.
        """
        self._log.require_unless_begun(released_file.NAME, "synthetic.npz", "checkpoints")
        if (self._folder.path / released_file.NAME).exists():
            return released_file.read(self._folder.path / released_file.NAME).released
        if self._plan.reused is not None:
            released = self._plan.reused.released
        else:
            started = time.monotonic()
            released = jax.block_until_ready(self._plan.release())
            self._metrics["embedding_seconds"] = time.monotonic() - started
        released_file.write(
            self._log,
            released,
            feature_config=self._plan.feature_config,
            example_shape=self._plan.data.shape,
            certificate=self._certificate,
        )
        self._folder.write_json("metrics.json", self._metrics)
        return released

    def finish(self) -> None:
        """Train for the steps that are left and write the results."""
        total, initial = self._plan.hyper.steps, int(self._state.step)
        saved_at = time.monotonic()
        every = max(1, total // _POINTS)
        with tqdm(total=total, initial=initial, unit="step", desc="training", **bar_style()) as bar:
            for step in range(initial + 1, total + 1):
                started = time.monotonic()
                self._state, distance = self._plan.training.update(
                    self._state, self._plan.codes_key, self._released
                )
                jax.block_until_ready(distance)
                self._metrics["train_seconds"] += time.monotonic() - started
                bar.update()
                if step % every == 0 or step == total:
                    self._note(step, float(distance))
                if step == total or time.monotonic() - saved_at > _CHECKPOINT_SECONDS:
                    self._checkpoints.save(step, self._state)
                    self._folder.write_json("metrics.json", self._metrics)
                    saved_at = time.monotonic()
        self._write_results()

    def _note(self, step: int, distance: float) -> None:
        """Note the distance to the released embedding: of what is public, so free to show."""
        if not np.isfinite(distance):
            raise InputError(
                f"--learning_rate={self._plan.hyper.learning_rate}: training has diverged at step "
                f"{step}; lower it"
            )
        self._metrics["embedding_distance"] = distance
        self._metrics["history"].append({"step": step, "embedding_distance": distance})

    def _write_results(self) -> None:
        plan, folder = self._plan, self._folder
        variables = self._state.average
        save_generator(folder, plan, variables)
        labels = balanced_labels(
            np.asarray(self._released.class_weights),
            plan.settings.num_synthetic,
            seed=plan.settings.seed,
        )
        key = jax.random.fold_in(jax.random.key(plan.settings.seed), 3)
        rows = draw_rows(plan.module, variables, labels, key, code_dim=plan.hyper.code_dim)
        scaling = plan.data.scaling
        as_bytes = plan.data.x_train.dtype == np.uint8
        x = as_stored(rows, plan.data.shape, low=scaling.low, high=scaling.high, as_bytes=as_bytes)
        folder.write_npz("synthetic.npz", x=x, y=labels, class_names=np.array(plan.class_names))
        picture = self._picture(x, labels)
        folder.write_bytes("samples.png", picture)
        if plan.evaluators:
            self._metrics |= judge(plan, rows, labels)
        if plan.settings.check_copies:
            _write_copies(folder, copies(plan, rows))
        self._metrics["finished"] = True
        folder.write_json("metrics.json", self._metrics)
        run_start.finish(folder, self._certificate, _PUBLIC_FILES)
        folder.write_bytes("report.html", self._report(picture).encode())

    @property
    def _title(self) -> str:
        plan = self._plan
        return f"{plan.data.name}, {plan.feature_config.features} features, epsilon {plan.eps:g}"

    def _picture(self, x: np.ndarray, labels: np.ndarray) -> bytes:
        from experiments.report import pictures  # imports matplotlib: not before the first step

        data = self._plan.data
        return pictures.image_grid_png(
            x.astype(np.float32),
            labels,
            self._plan.class_names,
            low=data.scaling.low,
            high=data.scaling.high,
            title=f"synthetic {self._title}",
        )

    def _report(self, picture: bytes) -> str:
        from experiments.report import pictures

        history = self._metrics["history"]
        curve = pictures.distance_curve_png(
            [point["step"] for point in history],
            [point["embedding_distance"] for point in history],
        )
        return report.render_report(
            title=f"Synthetic {self._title}",
            config=self._folder.read_json("config.json") or {},
            metrics=self._metrics,
            privacy=self._folder.read_json("privacy.json") or {},
            picture_png=picture,
            curve_png=curve,
            contents=report_contents.SYNTHETIC,
        )


def save_generator(folder: RunFolder, plan: NtkPlan, variables: Any) -> None:
    """Write the generator with what is needed to build it again."""
    arrays = jax.tree.map(np.asarray, variables)
    description = {
        "module": type(plan.module).__name__,
        "arguments": {
            name: value
            for name, value in dataclasses.asdict(plan.module).items()
            if name not in ("parent", "name")
        },
        "code_dim": plan.hyper.code_dim,
        "class_names": list(plan.class_names),
        "example_shape": list(plan.data.shape),
        "low": plan.data.scaling.low,
        "high": plan.data.scaling.high,
        "bytes": bool(plan.data.x_train.dtype == np.uint8),
    }
    save_tree(folder.generator / "variables", arrays)
    description["digest"] = files_digest(folder.generator / "variables")
    folder.write_bytes(
        f"{folder.generator.name}/description.json", json.dumps(description, indent=2).encode()
    )


def judge(plan: NtkPlan, rows: np.ndarray, labels: np.ndarray) -> dict[str, Any]:
    """Return metrics of the synthetic set, measured on the test split."""
    data = plan.data
    problem = Problem(
        x=rows.reshape(-1, *data.shape),
        y=labels,
        x_test=plan.unit_rows(data.x_test).reshape(data.x_test.shape),
        y_test=data.y_test,
        num_classes=plan.num_classes,
        recipe=for_generated(is_image=data.is_image),
        inception_weights=plan.settings.inception_weights,
    )
    return registry.generated_metrics(registry.evaluate(plan.evaluators, problem))


def _write_copies(folder: RunFolder, found: dict[str, Any]) -> None:
    """Write what is as private as the data into a folder of its own, for its owner alone."""
    folder.not_for_release.mkdir(mode=0o700, exist_ok=True)
    path = folder.not_for_release / "copies.json"
    path.write_text(json.dumps(found, indent=2, allow_nan=False) + "\n")
    print(f"NOT FOR RELEASE: {path} was computed from private data without noise")


def copies(plan: NtkPlan, rows: np.ndarray) -> dict[str, Any]:
    """Return how near the synthetic examples come to private ones, which is itself private."""
    from experiments.evaluation import copies as neighbours

    train, test = (plan.unit_rows(x) for x in (plan.data.x_train, plan.data.x_test))
    return neighbours.nearest_neighbours(rows, train, test, seed=0)


def _print_summary(folder: RunFolder, certificate: dict[str, Any]) -> None:
    metrics = folder.read_json("metrics.json") or {}
    for name, result in metrics.get("accuracy", {}).items():
        print(f"{name} trained on it: test accuracy {result['mean']:.2%} (std {result['std']:.2%})")
    print_guarantee(certificate)
    if "reused" in certificate:
        print(certificate["reused"])
    print(f"results: {folder.path}/report.html")
