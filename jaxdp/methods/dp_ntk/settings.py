"""Settings of DP-NTK, and what they are by default: by rules, chosen on held-out data.

A preset says otherwise for some datasets (`jaxdp.methods.presets`).
"""

import dataclasses
import math
from collections.abc import Iterator
from typing import Any, ClassVar

from jaxdp.methods.dp_ntk.features import FEATURES, UNTOLD, FeatureOptions
from jaxdp.methods.dp_ntk.generators import CELLS, GENERATORS
from jaxdp.methods.settings import (
    DATA_PRIORS,
    EQUAL_PRIORS,
    LEAST_SHARE,
    PRIORS,
    ByData,
    ByPreset,
    bad,
    budget,
    filled,
    setting,
)

MARGINALS, PAIRS = "marginals", "pairs"
# Features that count cells: a generator draws from them.
COUNTS = (MARGINALS, PAIRS)
SCHEDULES = ("cosine", "published")
PRESETS = ("full", "fast")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings(FeatureOptions, ByPreset):
    """Settings of DP-NTK; None stands for a default that depends on the data.

    Examples:
        >>> import jaxdp
        >>> ntk = jaxdp.methods.dp_ntk
        >>> settings = ntk.Settings(eps=1.0)
        >>> spec = jaxdp.Spec.images("scans", (5000, 32, 32), class_names=["no", "yes"])
        >>> complete = ntk.complete(settings, spec)
        >>> complete.features, complete.generator, complete.num_synthetic
        ('entk', 'conv', 60000)
    """

    LENGTHS: ClassVar[tuple[str, ...]] = PRESETS

    unconditional: ByData[bool] = setting(
        None, "Treat all examples as one class; labels are neither used nor made."
    )
    weights_share: ByData[float] = setting(
        None,
        "Part of the budget, in [0, 1), that releases the classes' shares, in which examples are "
        "drawn then; with 0 a generator learns from those that the embedding tells, and draws "
        "equally many of each class (default: 0.1 for records, 0 for images and for features that "
        "count cells, which tell the shares themselves).",
        at_least=0,
        at_most=1 - LEAST_SHARE,
    )
    priors: str = setting(
        DATA_PRIORS,
        "How common classes are among what is drawn, and in a teacher's labels: data, as what is "
        "released tells; or equal, so that rare ones are found. Images are drawn equally where "
        "--weights_share is 0.",
        among=PRIORS,
        usual=True,
    )
    preset: str = setting(
        "full",
        "full, or fast: fewer and smaller steps and small networks, minutes on a CPU. Or settings "
        "by name, where no flag says otherwise: paper:NAME, those of a paper for a dataset, or "
        "tuned:NAME, which full and fast take for a dataset known by name.",
        usual=True,
    )
    generator: ByData[str] = setting(
        None,
        f"{GENERATORS.help()} (default: by the shape of the data).",
        among=tuple(GENERATORS),
        usual=True,
    )
    code_dim: ByData[int] = setting(
        None, "Length of the generator's latent codes (by the data).", above=0, at_most=1e5
    )
    schedule: ByData[str] = setting(
        None, "Decay of the step size: cosine, or published (in stairs).", among=SCHEDULES
    )
    ema_decay: ByData[float] = setting(
        None,
        "Decay of the moving average of the generator; 0 for none.",
        at_least=0,
        below=1,
    )
    flow_passes: ByData[int] = setting(
        None,
        "How often each drawn image is moved to where all have the released embedding, 0 for never "
        "(default: 8 with encoder_rbf, 2 with --preset=fast as well, 0 with other features).",
        at_least=0,
        at_most=1000,
        fixed=False,
    )
    num_synthetic: ByData[int] = setting(
        None,
        "Size of the synthetic dataset (default: 60000, of a table with a schema as many as it has "
        "records).",
        above=0,
        fixed=False,
        usual=True,
    )

    def __post_init__(self) -> None:
        ByPreset.__post_init__(self)
        FeatureOptions.__post_init__(self)

    def odd(self, spec: Any) -> Iterator[str]:
        """Yield a line where complete settings embed what they make no use of."""
        del spec
        if self.features == "encoder_rbf" and not self.flow_passes:
            yield (
                "--flow_passes=0: half of what --features=encoder_rbf embeds is for images that "
                "are moved; --features=scatter_rbf embeds the other half alone"
            )

    def check(self) -> None:
        """Raise a `SettingsError` where a value is beyond what can be computed."""
        super().check()
        if self.batch_size is not None and self.batch_size > 10**6:
            raise bad(self, "batch_size", "must be at most 1e+06")
        if 0 < (self.weights_share or 0) < LEAST_SHARE:
            raise bad(self, "weights_share", f"must be 0, or {LEAST_SHARE:g} or above")
        if self.weights_share and self.takes_equal_priors:
            raise bad(self, "weights_share", "is not needed with --priors=equal, leave it out")

    @property
    def takes_equal_priors(self) -> bool:
        """Whether equally many examples of every class are drawn."""
        return self.priors == EQUAL_PRIORS


# Values that depend on the data: of training.
_GENERAL: dict[str, Any] = {
    "steps": 2000,
    "batch_size": 1000,
    "learning_rate": 0.01,
    "schedule": "cosine",
    "ema_decay": 0.99,
    "code_dim": 5,
}
# How often images are moved to an embedding of which a generator sees a part alone.
_FLOW_PASSES = {"encoder_rbf": 8}
_FEW_PASSES = {"encoder_rbf": 2}
# Features that are computed image by image, at once for all classes.
_FLOWING = ("rff", "scatter", "scatter_rbf", *_FLOW_PASSES)
# Dear steps; Hermite's is the paper's, and random Fourier features' five times theirs.
_LARGEST_BATCH = {
    "scatter": 500,
    "scatter_rbf": 500,
    "encoder_rbf": 500,
    "rff": 500,
    "hermite": 200,
}
# With --preset=fast, chosen on held-out images: at most so many steps, of at most so many examples,
# and codes of at least this length. A step's time grows with the values of its examples, so larger
# ones are fewer: as many as these have values at 32 x 32 grey pixels.
_FAST = dict.fromkeys(("scatter_rbf", "encoder_rbf"), (600, 300))
_FAST_OTHERS = (1200, 500)
_FAST_PIXELS, _FEWEST = 32 * 32, 32
_FAST_CODE = 16
# One example alone would have to have the mean features of its class: two may differ.
_LEAST_OF_A_CLASS = 2
# A kernel that rewards variety, and DP-HP's own.
_SHORTEST_CODE = {"scatter_rbf": 16, "encoder_rbf": 16, "hermite": 15}
_NETWORK = {"network": "fc_1l", "ntk_width": "800"}
# Widths of two layers, where a network of so many is asked for and no others are told.
_TWO_LAYERS, _THEIR_WIDTHS = ("fc_2l", "cnn_2l"), "200_100"
# Of hermite's two kernels, as the papers split their budget; of pairs held out on adult.
_PRODUCT_SHARES = {"hermite": 0.2, "pairs": 0.5}
_TABLE_SHARE = 0.1
# Noise on the count of a pair grows with the root of their number. Held out at epsilon 1, pairs
# gain on adult and census, with 2500 records for each unit of that root, and lose on covtype, 370.
_RECORDS_FOR_PAIRS = 1000
_MOST_PAIRED = 60


def complete(settings: Settings, spec: Any, earlier: Any = None) -> Settings:
    """Return settings in which nothing is None that has a default.

    Args:
        settings: as given.
        spec: facts about the data.
        earlier: what an earlier run has released; its features are those of this run, too.

    Raises:
        SettingsError: settings do not go together.
    """
    stored = None if earlier is None else earlier.stored
    if settings.length_scale == 0:
        raise bad(settings, "length_scale", "must be a number above 0")
    if stored is not None:
        if settings.noise_seed is not None:
            raise bad(settings, "noise_seed", "no noise is drawn again here, leave it out")
        stored.require_options(settings, leave_out=("seed",))
        features = settings.features or stored.options.features
    else:
        features = settings.features or _features_for(settings, spec)
    table = defaults(settings, spec, features)
    if stored is not None:
        table |= dataclasses.asdict(stored.options)
    done = filled(settings, table)
    FEATURES.fitting(str(done.features), spec)
    _check_flow(done, spec)
    if done.unconditional and done.takes_equal_priors:
        raise bad(settings, "priors", "is of classes, which --unconditional does not tell apart")
    return dataclasses.replace(done, weights_share=0.0) if done.unconditional else done


def _check_flow(done: Settings, spec: Any) -> None:
    """Raise a `SettingsError` where nothing can be moved."""
    are_images = spec.kind.choose(images=True, rows=False, table=False)
    if done.flow_passes and not (are_images and done.features in _FLOWING):
        allowed = ", ".join(_FLOWING)
        raise bad(done, "flow_passes", f"is for images and --features={allowed}; leave it out")


def defaults(settings: Settings, spec: Any, features: str) -> dict[str, Any]:
    """Return the values for data, features and a preset."""
    table = feature_rules(features, spec) | training_rules(features, spec)
    # Marginals tell the classes' shares themselves.
    of_records = 0.0 if features in COUNTS else _TABLE_SHARE
    of_records = 0.0 if settings.takes_equal_priors else of_records
    share = spec.kind.choose(images=0.0, rows=of_records, table=of_records)
    table |= {
        "unconditional": spec.num_classes < 2,
        "weights_share": share,
        "flow_passes": _FLOW_PASSES.get(features, 0),
        "num_synthetic": _num_synthetic(spec),
    }
    table["generator"] = generator_for(features, spec, settings.preset)
    table |= settings.by_preset("dp_ntk", spec, features=features, eps=settings.eps)
    if settings.preset == "fast":
        table |= _NETWORK | _shortened(table, features, spec)
    if settings.network in _TWO_LAYERS and settings.network != table["network"]:
        table["ntk_width"] = _THEIR_WIDTHS
    return table


def _num_synthetic(spec: Any) -> int:
    return spec.kind.choose(images=60000, rows=60000, table=spec.num_examples)


def training_rules(features: str, spec: Any) -> dict[str, Any]:
    """Return how a generator is trained, by features and how many classes there are."""
    size = min(_GENERAL["batch_size"], _LARGEST_BATCH.get(features, 10**6))
    return _GENERAL | {
        "batch_size": max(size, _LEAST_OF_A_CLASS * spec.num_classes),
        "code_dim": max(_GENERAL["code_dim"], _SHORTEST_CODE.get(features, 1)),
    }


def _shortened(table: dict[str, Any], features: str, spec: Any) -> dict[str, Any]:
    """Return fewer and smaller steps than a table has, by features and an example's size."""
    steps, batch_size = _FAST.get(features, _FAST_OTHERS)
    # Batch normalisation, which is over all classes, needs some, and every class two.
    fewer = batch_size * _FAST_PIXELS // max(spec.dim, _FAST_PIXELS)
    fewer = max(fewer, _FEWEST, _LEAST_OF_A_CLASS * spec.num_classes)
    return {
        "steps": min(table["steps"], steps),
        "batch_size": min(table["batch_size"], fewer),
        "code_dim": max(table["code_dim"], _FAST_CODE),
        "flow_passes": _FEW_PASSES.get(features, 0),
    }


def generator_for(features: str, spec: Any, preset: str | None) -> str:
    """Return the generator's name by features, an example's shape, and preset."""
    sides = spec.shape[:2]
    of_images = "dense" if any(side % 4 for side in sides) else "conv"
    if preset != "fast" and spec.shape[-1] > 1 and not any(side % 8 for side in sides):
        of_images = "resnet"
    of_records = CELLS if features in COUNTS else "table"
    return spec.kind.choose(images=of_images, rows=of_records, table=of_records)


def feature_rules(features: str, spec: Any) -> dict[str, Any]:
    """Return what features are made from, by their name and the data."""
    # Two random rows in [0, 1]^d are sqrt(d / 6) apart on average.
    scales = {"rff": math.sqrt(spec.dim / 6), "hermite": math.sqrt(0.15)}
    scales |= dict.fromkeys(("scatter_rbf", "encoder_rbf"), 0.7)
    own = {
        "features": features,
        "moments": 1,
        "length_scale": scales.get(features, 0.0),
        "product_share": _PRODUCT_SHARES.get(features, 0.0) if spec.dim > 1 else 0.0,
    }
    return UNTOLD | _NETWORK | own


def _features_for(settings: Settings, spec: Any) -> str:
    """Return what is embedded: of a table pairs of columns where noise leaves them legible."""
    num = len(spec.columns)
    enough = settings.eps * spec.num_examples >= _RECORDS_FOR_PAIRS * math.sqrt(math.comb(num, 2))
    of_table = PAIRS if 1 < num <= _MOST_PAIRED and enough else MARGINALS
    # Rows that nobody described: at epsilon 1 others are at chance where Hermite's is not.
    return spec.kind.choose(images="entk", rows="hermite", table=of_table)


def folder_name(settings: Settings, spec: Any, earlier: Any = None) -> str:
    """Return a name that tells runs of different settings apart."""
    eps = budget(settings, None if earlier is None else earlier.certificate())
    return f"{spec.name}_{settings.features}_eps{eps:g}"
