"""Distil a private labelled image set into a few images per class with DP-KIP.

    python -m experiments.dp_kip                                  # bundled digits, a minute
    python -m experiments.dp_kip --dataset=cifar10 --ipc=10 --eps=10
    python -m experiments.dp_kip --dataset=mnist --eps=inf        # plain KIP, not private

Only flags live here, so that --help answers at once; the run is in experiments/distill.py.
"""

import dataclasses
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from absl import app, flags, logging

from experiments.errors import InputError

FLAGS = flags.FLAGS

flags.DEFINE_string(
    "dataset",
    "digits",
    "digits (bundled), {data_dir}/{name}.npz, an image folder "
    "{data_dir}/{name}/{train,test}/{class}/, or a tfds name: mnist, fashion_mnist, "
    "svhn_cropped, cifar10, cifar100.",
)
flags.DEFINE_string("data_dir", "data", "Where datasets are looked for.")
flags.DEFINE_integer(
    "subset", None, "Use at most so many examples of each split, chosen by --seed (default: all)."
)
flags.DEFINE_string(
    "out_dir", None, "Where results go; by default runs/{dataset}_ipc{ipc}_eps{eps}."
)
flags.DEFINE_integer("ipc", 1, "Distilled images per class.")
flags.DEFINE_float("eps", 1.0, "Privacy budget epsilon; inf for plain KIP without privacy.")
flags.DEFINE_float("delta", 1e-5, "Privacy budget delta; should be well below 1/n.")
flags.DEFINE_string(
    "kernel",
    "fc_ntk",
    "Kernel of the regression: fc_ntk, fc_nngp, scatter, perceptual (random ResNet-18), entk "
    "(LeNet, or ResNet-18 for colour) or conv_ntk (needs the extra [nt]).",
)
flags.DEFINE_integer("depth", 1, "Hidden layers of the network of fc_ntk and fc_nngp.")
flags.DEFINE_integer("scatter_scales", 2, "Octaves J of scatter: patches of 2^J pixels.")
flags.DEFINE_integer("scatter_angles", 8, "Orientations L of scatter.")
flags.DEFINE_string(
    "scatter_norm",
    None,
    "Normalisation of scatter's features: none, unit, group, pointwise, or paper (pointwise for "
    "grey images, none for colour); default: by dataset.",
)
flags.DEFINE_string(
    "clip_space",
    None,
    "Where gradients of kernels of features are clipped and noised: pixels (the papers' way, much "
    "slower) or features (default where the kernel has them).",
)
flags.DEFINE_float(
    "corrupt", 0.0, "Fraction of the distilled images' pixels that stay at their initial noise."
)
flags.DEFINE_integer(
    "chunk_size", None, "Targets processed at once, which bounds the memory (default: by device)."
)
flags.DEFINE_float("epochs", None, "Expected passes over the data (default: by dataset).")
flags.DEFINE_integer("steps", None, "Number of steps, instead of --epochs.")
flags.DEFINE_integer("batch_size", None, "Expected size of a Poisson batch (default: by dataset).")
flags.DEFINE_float("learning_rate", None, "Adam's first step size, decayed to 0 by a cosine.")
flags.DEFINE_float("clip_norm", None, "Bound on one example's gradient (default: by dataset).")
flags.DEFINE_float("ridge", None, "Ridge relative to the mean of the kernel matrix's diagonal.")
flags.DEFINE_float("init_scale", None, "Standard deviation of the Gaussian initial images.")
flags.DEFINE_float(
    "smoothing", None, "Width in pixels of the Gaussian that noisy gradients are smoothed with."
)
flags.DEFINE_float("average_decay", 0.9, "Decay of the moving average of iterates; 0 for none.")
flags.DEFINE_string(
    "evaluate",
    "krr",
    "How the result is judged, separated by commas: krr, convnet (minutes on a CPU), logistic, "
    "mlp.",
)
flags.DEFINE_string("accountant", "pld", "pld (tight) or rdp (what the papers used).")
flags.DEFINE_integer("seed", 0, "Public randomness: the initial images.")
flags.DEFINE_integer(
    "noise_seed",
    None,
    "Makes sampling and noise reproducible, for tests only: marks the result not releasable.",
)
flags.DEFINE_integer(
    "eval_every", None, "Steps between checkpoints with a test accuracy (default: a tenth)."
)
flags.DEFINE_bool("resume", False, "Continue the run in out_dir from its last checkpoint.")
flags.DEFINE_bool("overwrite", False, "Replace the run in out_dir.")


def parse(argv: Sequence[str]) -> list[str]:
    """Parse the command line; a bad one ends the program with one line and exit code 2."""
    try:
        rest = FLAGS(list(argv))
        if len(rest) > 1:
            raise InputError(f"{rest[1]}: unexpected argument; flags look like --dataset=mnist")
        return rest
    except (flags.Error, InputError) as error:
        _fail(error)
    except SystemExit:  # absl has shown the help, and would exit with 1
        sys.exit(0)


def _fail(error: Exception) -> NoReturn:
    print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
    sys.exit(2)


def main(argv: Sequence[str]) -> None:
    """Run the driver; bad input ends it with one line and exit code 2."""
    del argv
    logging.set_verbosity(logging.WARNING)  # orbax reports every step it takes
    # jax solves small systems through OpenBLAS, whose threads wait by spinning and fight
    # with jax's own.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from experiments import distill, settings  # import jax: not before the flags are parsed

    values: dict[str, Any] = {
        field.name: FLAGS[field.name].value for field in dataclasses.fields(settings.Settings)
    }
    try:
        distill.run(settings.Settings(**values))
    except InputError as error:
        _fail(error)


if __name__ == "__main__":
    app.run(main, flags_parser=parse)
