"""The embedded features by name: how each map is built from its public options.

This file imports the standard library alone until a map is built.
"""

import dataclasses
import math
from typing import Any

from jaxdp.methods.registry import Entry, Registry
from jaxdp.methods.settings import ByData, SettingsError, check_fields, setting

UNTOLD: dict[str, Any] = {"product_share": 0.0}
"""Options that came later: what they are where neither a setting nor an earlier file tells it."""
NETWORKS = ("fc_1l", "fc_2l", "cnn_2l", "cnn2d", "lenet5", "resnet")
_NUM_FREQUENCIES = 10000
_NUM_WAVES, _WHITEN = 4000, 0.1
# 5 for 28 x 28 pixels in [0, 1], whose images are about 10 apart.
_NUM_PIXEL_WAVES, _PIXEL_SHARE, _PIXEL_SCALE = 2000, 0.2, 0.18
_ENCODER_SHARE, _NUM_ENCODER_WAVES = 0.5, 4000
_HERMITE_ORDER = 100
_PRODUCT_ORDER, _NUM_PAIRS = 20, 10
_MOST_PAIR_CELLS = 500_000


def build_features(options: "FeatureOptions", spec: Any, num_logits: int, cached: Any) -> Any:
    """Return the map of rows in [0, 1] that hold examples of a dataset.

    Args:
        options: complete.
        spec: facts about the data.
        num_logits: outputs of a network.
        cached: keeps public arrays.

    Raises:
        SettingsError: it does not work with data of that shape.
    """
    entry = FEATURES.fitting(str(options.features), spec)
    if options.moments != 1 and options.features not in ("rff", "scatter"):
        raise SettingsError(
            f"--moments={options.moments}: --features={options.features} has no second moments "
            "here; use rff or scatter"
        )
    if options.product_share and options.features not in ("hermite", "pairs"):
        raise SettingsError(
            f"--product_share={options.product_share}: --features={options.features} has no "
            "pairs of columns; use hermite or pairs"
        )
    return entry.build(options, spec, num_logits, cached)


def parse_widths(text: str) -> tuple[int, ...]:
    """Return the widths in a text such as 3000_200.

    Raises:
        SettingsError: it is none.
    """
    parts = text.split("_")
    if len(parts) > 2 or not all(map(_is_width, parts)):
        raise SettingsError(
            f"--ntk_width={text}: must be one or two widths, as 800 or 3000_200, of at most a "
            "million"
        )
    return tuple(int(part) for part in parts)


def _is_width(text: str) -> bool:
    return text.isdecimal() and len(text) < 8 and 0 < int(text) <= 10**6


def _entk(options: "FeatureOptions", spec: Any, num_logits: int, cached: Any) -> Any:
    import jax
    import numpy as np

    from jaxdp.features.tangent import entk_map

    del cached
    module = _network(options, spec, num_logits)
    example = np.zeros((1, spec.dim), np.float32)
    try:
        variables = jax.jit(module.init)(jax.random.key(options.seed), example)
    except ValueError as error:
        raise SettingsError(f"--network={options.network}: {error}") from error
    return entk_map(module.apply, variables, spec.dim)


def _network(options: "FeatureOptions", spec: Any, num_logits: int) -> Any:
    from jaxdp.methods.base import require_image
    from jaxdp.networks import tangent

    widths = parse_widths(options.ntk_width)
    needed = {"fc_1l": 1, "fc_2l": 2, "cnn_2l": 2, "cnn2d": 1}.get(options.network)
    if needed is not None and len(widths) != needed:
        raise SettingsError(
            f"--ntk_width={options.ntk_width}: --network={options.network} takes {needed} width(s)"
        )
    if options.network == "fc_1l":
        return tangent.FullyConnected1(widths[0], num_logits)
    if options.network == "fc_2l":
        return tangent.FullyConnected2((widths[0], widths[1]), num_logits)
    if options.network == "cnn_2l":
        return tangent.ColumnNetwork((widths[0], widths[1]), num_logits)
    image = require_image(spec, f"--network={options.network}", "use fc_1l, fc_2l or cnn_2l")
    if options.network == "cnn2d":
        return tangent.Convolutional(image, widths[0], num_logits)
    return tangent.OneLogit(image, residual=options.network == "resnet")


def _fourier(options: "FeatureOptions", spec: Any, num_logits: int, cached: Any) -> Any:
    import jax

    from jaxdp.features import base as feature_maps
    from jaxdp.features import fourier

    del num_logits, cached
    dim = spec.dim
    features = fourier.fourier_features(
        jax.random.key(options.seed),
        dim,
        num_features=_NUM_FREQUENCIES,
        length_scale=options.length_scale,
    )
    return feature_maps.unit_features(features, dim, moments=options.moments)


def _hermite(options: "FeatureOptions", spec: Any, num_logits: int, cached: Any) -> Any:
    from jaxdp.features import base as feature_maps
    from jaxdp.features import hermite

    del num_logits, cached
    dim, variance = spec.dim, options.length_scale**2
    sums = hermite.hermite_weighted_sum(dim, order=_HERMITE_ORDER, variance=variance)
    # Both kernels are positive, so no two features are further apart than orthogonal ones.
    single = feature_maps.summed_features(sums, dim * (_HERMITE_ORDER + 1), diameter=math.sqrt(2))
    share = options.product_share
    if share == 0:
        return single
    return feature_maps.joined([(single, 1 - share), (_hermite_pairs(options, dim), share)])


def _hermite_pairs(options: "FeatureOptions", dim: int) -> Any:
    import jax
    import jax.numpy as jnp

    from jaxdp.features import base as feature_maps
    from jaxdp.features import hermite

    if dim < 2:
        raise SettingsError(
            f"--product_share={options.product_share}: needs two columns, here is one"
        )
    phi = hermite.hermite_product_features(
        hermite.random_pairs(jax.random.key(options.seed), dim, _NUM_PAIRS),
        order=_PRODUCT_ORDER,
        variance=options.length_scale**2,
    )
    return feature_maps.summed_features(
        lambda x, weights: jnp.matmul(weights, phi(x), precision="highest"),
        _NUM_PAIRS * (_PRODUCT_ORDER + 1) ** 2,
        diameter=math.sqrt(2),
    )


def _scatter(options: "FeatureOptions", spec: Any, num_logits: int, cached: Any) -> Any:
    from jaxdp.features import base as feature_maps
    from jaxdp.features import image_maps

    del num_logits, cached
    try:
        features = image_maps.patch_map(spec.image_shape, normalisation="group")
    except ValueError as error:
        raise SettingsError(f"--features=scatter: {error}") from error
    return feature_maps.unit_features(features, spec.dim, moments=options.moments)


def _scatter_rbf(options: "FeatureOptions", spec: Any, num_logits: int, cached: Any) -> Any:
    import jax

    from jaxdp.features import base as feature_maps
    from jaxdp.features import fourier, image_maps, levels, whitening

    del num_logits
    image = spec.image_shape
    try:
        parts = image_maps.fine_levels(image)
    except ValueError as error:
        raise SettingsError(f"--features={options.features}: {error}") from error
    what = {"what": "whitening of fine scattering features on dead leaves, version 1"}
    shapes_key, pixels_key = jax.random.split(jax.random.key(options.seed))
    matrices = whitening.of_levels(parts, gamma=_WHITEN, what=what, cached=cached, drawn={})
    shapes = fourier.directional_fourier_features(
        levels.side_by_side(parts),
        matrices[0] if len(matrices) == 1 else jax.scipy.linalg.block_diag(*matrices),
        shapes_key,
        num_features=_NUM_WAVES,
        length_scale=options.length_scale,
    )
    dim = spec.dim
    # Group-normalised coefficients tell shapes, not brightness: pixels do.
    seen = math.prod(levels.shrunk_shape(image, levels.COARSE))
    pixels = fourier.fourier_features(
        pixels_key,
        seen,
        num_features=_NUM_PIXEL_WAVES,
        length_scale=_PIXEL_SCALE * math.sqrt(seen),
    )
    pixels = levels.then(levels.shrunk(image, levels.COARSE), pixels)
    return feature_maps.joined(
        [
            (feature_maps.unit_features(shapes, dim), 1 - _PIXEL_SHARE),
            (feature_maps.unit_features(pixels, dim), _PIXEL_SHARE),
        ]
    )


def _encoder_rbf(options: "FeatureOptions", spec: Any, num_logits: int, cached: Any) -> Any:
    import jax

    from jaxdp.features import base as feature_maps
    from jaxdp.features import fourier, levels, public_encoder, whitening

    image = spec.image_shape
    shape = levels.shrunk_shape(image, levels.COARSE)
    try:
        encoded = public_encoder.encoder_features(shape, mirror=False)
    except ValueError as error:
        raise SettingsError(f"--features=encoder_rbf: {error}") from error
    first = _scatter_rbf(options, spec, num_logits, cached)
    matrix = whitening.on_dead_leaves(
        encoded,
        shape,
        gamma=_WHITEN,
        what={
            "what": "whitening of an encoder's features on dead leaves, version 1",
            **{"mirror": False, "weights": public_encoder.DIGEST},
        },
        cached=cached,
        drawn={},
        few=True,
    )
    waves = fourier.directional_fourier_features(
        encoded,
        matrix,
        jax.random.fold_in(jax.random.key(options.seed), 2),
        num_features=_NUM_ENCODER_WAVES,
        length_scale=options.length_scale,
    )
    seen = levels.then(levels.shrunk(image, levels.COARSE), waves)
    share = 1 - _ENCODER_SHARE
    parts = [(first, share), (feature_maps.unit_features(seen, spec.dim), _ENCODER_SHARE)]
    return feature_maps.joined(parts)._replace(leading=parts[0])


def _marginals(options: "FeatureOptions", spec: Any, num_logits: int, cached: Any) -> Any:
    del num_logits, cached
    from jaxdp.features import marginals

    if not spec.columns:
        raise SettingsError(
            f"--features={options.features}: counts the cells of columns, and nobody has declared "
            f"the columns of --dataset={spec.name}; give a table with --csv and --schema"
        )
    return marginals.marginal_features(spec.dim, len(spec.columns))


def _pairs(options: "FeatureOptions", spec: Any, num_logits: int, cached: Any) -> Any:
    from jaxdp.features import base as feature_maps
    from jaxdp.features import marginals
    from jaxdp.tables.pairs import Pairs

    single = _marginals(options, spec, num_logits, cached)
    pairs, share = Pairs(spec.codec.layout), options.product_share or 0.0
    if not pairs.all or not share:
        raise SettingsError(
            "--features=pairs: needs two columns and a --product_share above 0; use marginals"
        )
    if pairs.dim > _MOST_PAIR_CELLS:
        raise SettingsError(
            f"--features=pairs: {len(pairs.all)} pairs of columns have {pairs.dim} cells, and "
            f"noise hides more than {_MOST_PAIR_CELLS}; use marginals"
        )
    return feature_maps.joined([(single, 1 - share), (marginals.pair_features(pairs), share)])


FEATURES = Registry(
    "features",
    {
        "entk": Entry(
            build=_entk, help="gradients of a random network, DP-NTK; default for images"
        ),
        "rff": Entry(build=_fourier, help="random Fourier features, DP-MERF"),
        "hermite": Entry(
            build=_hermite, help="products of Hermite polynomials, DP-HP; default for bare rows"
        ),
        "marginals": Entry(
            build=_marginals, help="counts of every column, best for tables", kinds=("table",)
        ),
        "pairs": Entry(
            build=_pairs, help="counts of every column and every pair of them", kinds=("table",)
        ),
        "scatter": Entry(build=_scatter, help="scattering features", kinds=("image",)),
        "scatter_rbf": Entry(
            build=_scatter_rbf,
            help="best: random Fourier features of scattering features and of pixels",
            kinds=("image",),
        ),
        "encoder_rbf": Entry(
            build=_encoder_rbf,
            help="these, and as many of a network that random images have taught: slow, for tens "
            "of thousands of images at epsilon 10",
            kinds=("image",),
        ),
    },
    otherwise="use --features=entk, rff or hermite",
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class FeatureOptions:
    """What a feature map is made from, beside the data's shape: public, stored with an embedding.

    Raises:
        SettingsError: a value is not one that its field may have: files may hold anything.
    """

    features: ByData[str] = setting(
        None, f"What is embedded: {FEATURES.help()}.", among=tuple(FEATURES), usual=True
    )
    network: ByData[str] = setting(
        None,
        "Network of entk: fc_1l, fc_2l, cnn_2l (tables), cnn2d, lenet5 or resnet (default: fc_1l).",
        among=NETWORKS,
    )
    ntk_width: ByData[str] = setting(
        None, "Widths of that network's hidden layers, as 800 or 3000_200."
    )
    moments: ByData[int] = setting(
        None,
        "1 or 2: whether scatter and rff embed squares of features beside them.",
        at_least=1,
        at_most=2,
    )
    length_scale: ByData[float] = setting(
        None,
        "Length scale of rff and hermite, in units of [0, 1], and of scatter_rbf and encoder_rbf, "
        "in units of a feature vector's length (default: public).",
        at_least=0,
    )
    product_share: ByData[float] = setting(
        None,
        "Part of hermite that is the product kernel of random pairs of columns (default: 0.2), or "
        "of pairs that counts pairs (default: 0.5).",
        at_least=0,
        below=1,
    )
    seed: int = setting(
        0, "Public randomness: whatever is drawn without the data.", at_least=0, below=2**63
    )

    def __post_init__(self) -> None:
        check_fields(self)
        if self.ntk_width is not None:
            parse_widths(self.ntk_width)
