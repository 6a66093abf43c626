"""Examples in docstrings run, and each name that a user types first has one."""

from __future__ import annotations

import ast
import doctest
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import jaxdp

PACKAGE = Path(jaxdp.__file__).parent
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
NEEDED = {
    "jaxdp": "JaxdpWarning Private SettingsError Spec load run",
    "jaxdp.methods": "Classifier Made PlainRunner",
    "jaxdp.methods.dp_kip": "Settings",
    "jaxdp.methods.dp_ntk": "Settings",
    "jaxdp.methods.dp_ntk.labels": "Settings",
    "jaxdp.methods.teacher": "Settings",
    "jaxdp.data": "Codec checked",
    "jaxdp.tables": "Column Layout Schema decode encode read_schema",
    "jaxdp.privacy": (
        "Certificate DatasetLedger GaussianRelease Ledger Profile SubsampledGaussian Terms "
        "TotalBudget UnreachableEpsilonError add_gaussian_noise analytic_gaussian_stddev "
        "labelled_chunks bounded calibrate certify clip gaussian_epsilon global_norm "
        "joint_epsilon joint_noise_multiplier joint_profile poisson_sample private_key "
        "recertified release_sums sum_clipped_grads"
    ),
    "jaxdp.privacy.accounting": "describe epsilon joint_epsilon profile",
    "jaxdp.privacy.releases": "calibrate epsilon",
    "jaxdp.kernels": (
        "DotProduct Kernel SupportSet fc_nngp fc_ntk from_dot_product from_features "
        "initial_support inner_products linear one_layer_entk squared_norms unit_scale"
    ),
    "jaxdp.kernels.kip": "loss predict",
    "jaxdp.kernels.krr": "accuracy fit predict",
    "jaxdp.kernels.preprocess": "centred_one_hot",
    "jaxdp.features": (
        "FeatureMap block_means entk_map fine_map fourier_features hermite_features joined "
        "marginal_features of_stored pair_features pooled_map public_directions scatter_features "
        "second_moment squared_distance summed_features transformed unit_features"
    ),
    "jaxdp.images": "Packing View colour_jittered cutmix resampled smooth_rows viewed",
    "jaxdp.networks": "ConvNet DenseGen LeNet ResNet18",
    "jaxdp.numerics": "float64 has_float64",
}
"""Names by room; a name that is new and belongs to the first ones has its place here, too."""


def examples() -> Iterator[doctest.DocTest]:
    """Yield the examples of each docstring of the package, whether it can be imported or not."""
    parser = doctest.DocTestParser()
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                text = ast.get_docstring(node, clean=False)
                name = f"{path.relative_to(PACKAGE.parent)}:{getattr(node, 'name', '')}"
                if text and (found := parser.get_doctest(text, {}, name, str(path), 0)).examples:
                    yield found


@pytest.mark.usefixtures("python_words")
@pytest.mark.parametrize("example", list(examples()), ids=lambda example: example.name)
def test_an_example_gives_what_it_shows(
    example: doctest.DocTest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # some write files
    said: list[str] = []
    doctest.DocTestRunner(optionflags=FLAGS).run(example, out=said.append)
    assert not said, "".join(said)


@pytest.mark.parametrize(
    "name", [f"{room}.{name}" for room, names in NEEDED.items() for name in names.split()]
)
def test_a_name_that_is_typed_first_has_an_example(name: str) -> None:
    docstring = pkgutil.resolve_name(name).__doc__
    assert ">>>" in (docstring or ""), f"{name}: its docstring needs a section Examples"
