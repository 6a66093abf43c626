"""Distil a private labelled image set into a few images per class with DP-KIP.

    python -m experiments.dp_kip                                  # bundled digits, a minute
    python -m experiments.dp_kip --dataset=cifar10 --ipc=10 --eps=10
    python -m experiments.dp_kip --dataset=mnist --eps=inf        # plain KIP, not private

Only flags live here, so that --help answers at once; the run is in experiments/runs/distill.py.
"""

from collections.abc import Sequence

from absl import app, flags

from experiments import command_line, distill_flags

flags.adopt_module_key_flags(command_line)
flags.adopt_module_key_flags(distill_flags)
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
flags.DEFINE_boolean(
    "bounded", False, "Keep the distilled pixels within the range of stored ones after every step."
)
flags.DEFINE_float("init_scale", None, "Standard deviation of the Gaussian initial images.")
flags.DEFINE_float(
    "smoothing", None, "Width in pixels of the Gaussian that noisy gradients are smoothed with."
)
flags.DEFINE_float("average_decay", 0.9, "Decay of the moving average of iterates; 0 for none.")
flags.DEFINE_string("accountant", "pld", "pld (tight) or rdp (what the papers used).")
flags.DEFINE_integer(
    "eval_every", None, "Steps between checkpoints with a test accuracy (default: a tenth)."
)


def main(argv: Sequence[str]) -> None:
    """Run the driver; bad input ends it with one line and exit code 2."""
    del argv
    with command_line.one_line_errors():
        command_line.prepare()
        from experiments import settings
        from experiments.runs import distill  # import jax: not before flags are parsed

        command_line.run(settings.Settings, distill.run)


if __name__ == "__main__":
    app.run(main, flags_parser=command_line.parse)
