"""Generate a synthetic labelled dataset from a privatised mean embedding (DP-NTK and its kin).

    python -m experiments.dp_ntk                                   # bundled digits
    python -m experiments.dp_ntk --dataset=mnist --eps=1
    python -m experiments.dp_ntk --dataset=mnist --eps=1 --features=scatter
    python -m experiments.dp_ntk --dataset=mnist --embedding=runs/mnist_entk_eps1/embedding.npz

Only flags live here, so that --help answers at once; the run is in experiments/runs/generate.py.
"""

from collections.abc import Sequence

from absl import app, flags

from experiments import command_line
from experiments.evaluation import flag as evaluation_flag

flags.adopt_module_key_flags(command_line)
flags.adopt_module_key_flags(evaluation_flag)
flags.DEFINE_string(
    "features",
    None,
    "What is embedded: entk (gradients of a random network, DP-NTK; default), rff (random Fourier "
    "features, DP-MERF), hermite (DP-HP), scatter, or scatter_rbf (best: random Fourier "
    "features of scattering features and of pixels).",
)
flags.DEFINE_string(
    "network",
    None,
    "Network of entk: fc_1l, fc_2l, cnn_2l (tables), cnn2d, lenet5 or resnet (by dataset).",
)
flags.DEFINE_string(
    "ntk_width", None, "Widths of that network's hidden layers, as 800 or 3000_200."
)
flags.DEFINE_integer(
    "moments", None, "1 or 2: whether scatter and rff embed squares of features beside them."
)
flags.DEFINE_float(
    "product_share",
    None,
    "Part of hermite that is the product kernel of random pairs of columns (default: 0.2).",
)
flags.DEFINE_float(
    "length_scale",
    None,
    "Length scale of rff and hermite, in units of [0, 1], and of scatter_rbf, in units of a "
    "feature vector's length (default: public).",
)
flags.DEFINE_bool(
    "unconditional", False, "Treat all examples as one class; labels are neither used nor made."
)
flags.DEFINE_float(
    "weights_share",
    None,
    "Part of the budget, in [0, 1), that releases the classes' shares; 0 takes them as equal "
    "(default: 0 for images, 0.1 for tables).",
)
flags.DEFINE_string(
    "embedding",
    None,
    "Released embedding.npz of an earlier run to train on: the private data are not used again.",
)
flags.DEFINE_string("preset", "full", "full, or fast: fewer and smaller steps, minutes on a CPU.")
flags.DEFINE_string(
    "generator", None, "conv, resnet, dense or table (default: by the shape of the data)."
)
flags.DEFINE_integer("code_dim", None, "Length of the generator's latent codes (by dataset).")
flags.DEFINE_string("schedule", None, "Decay of the step size: cosine, or published (in stairs).")
flags.DEFINE_float("ema_decay", None, "Decay of the moving average of the generator; 0 for none.")
flags.DEFINE_integer("num_synthetic", 60000, "Size of the synthetic dataset, equal per class.")
flags.DEFINE_string(
    "inception_weights",
    None,
    "File of the Inception network, as torch-fidelity has it, for --evaluate=inception, which it "
    "adds; needs the extra [fid]. Unpickled by torch: one that you trust.",
)
flags.DEFINE_bool(
    "check_copies",
    False,
    "Also measure how near the result comes to training examples: figures that are private "
    "themselves, in a folder beside the run's, {out_dir}.not_for_release.",
)


def main(argv: Sequence[str]) -> None:
    """Run the driver; bad input ends it with one line and exit code 2."""
    del argv
    with command_line.one_line_errors():
        command_line.prepare()
        from experiments import ntk_settings
        from experiments.runs import generate  # import jax: not before flags are parsed

        command_line.run(ntk_settings.NtkSettings, generate.run)


if __name__ == "__main__":
    app.run(main, flags_parser=command_line.parse)
