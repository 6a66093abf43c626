"""What an unknown flag was probably meant to be: names from other programs, and misspelt ones."""

import difflib
from collections.abc import Collection

_LIKENESS = 0.6
_SYNONYMS: dict[str, tuple[str, ...]] = {
    "eps": ("epsilon", "epsilon_total", "target_epsilon", "privacy_budget", "budget"),
    "delta": ("target_delta",),
    "dataset": ("data", "dataset_name", "name", "ds", "input", "input_data"),
    "data_dir": ("data_path", "dataset_path", "data_folder", "data_root", "root", "path", "folder"),
    "csv": ("table", "file", "csv_file", "train_csv", "parquet"),
    "schema": ("columns", "schema_file"),
    "steps": ("num_steps", "n_steps", "max_steps", "iterations", "num_iterations", "iters", "iter"),
    "epochs": ("num_epochs", "n_epochs", "max_epochs", "epoch"),
    "batch_size": ("batch", "bs", "batchsize", "minibatch_size", "expected_batch_size"),
    "learning_rate": ("lr", "step_size", "alpha", "eta"),
    "clip_norm": ("clip", "max_grad_norm", "l2_norm_clip", "clipping_norm", "clip_threshold"),
    "ridge": ("reg", "regularization", "weight_decay", "lambda", "lam"),
    "ipc": ("images_per_class", "num_images", "per_class", "n_per_class", "examples_per_class"),
    "num_synthetic": ("num_samples", "n_samples", "num_records", "num_generated", "samples"),
    "num": ("num_samples", "n_samples", "num_synthetic", "samples"),
    "image_size": ("size", "img_size", "resize", "resolution"),
    "test_fraction": ("test_size", "test_split", "val_fraction", "validation_split", "holdout"),
    "out_dir": ("out", "output", "output_dir", "outdir", "save_dir", "run_dir", "log_dir"),
    "out": ("output", "output_file", "outfile", "out_dir"),
    "run": ("run_dir", "run_folder", "out_dir"),
    "evaluate": ("eval", "metric", "metrics", "judge"),
    "overwrite": ("force", "replace"),
    "resume": ("continue", "restart", "resume_from"),
    "seed": ("random_seed", "random_state", "rng_seed"),
    "features": ("feature_map", "embedding_type"),
    "kernel": ("kernel_type",),
    "generator": ("model", "generator_type", "architecture"),
    "subset": ("limit", "max_examples", "num_examples", "n", "n_train"),
    "classes": ("num_classes", "n_classes"),
}
"""Flags, and what other programs call them."""


def message(
    name: str, given: object, known: Collection[str], switches: Collection[str] = ()
) -> str:
    """Return the line about an unknown flag, with the known one that it is likest to.

    Args:
        name: of the flag, without dashes.
        given: the word of the command line, as absl tells it; anything else where it does not.
        known: names of the program's flags.
        switches: those of them that are on or off.
    """
    word = given if isinstance(given, str) and given.startswith("-") else f"--{name}"
    near = _switched_off(name, switches) or _nearest(name, known)
    if near is None:
        return f"{word}: there is no such flag; --help lists all"
    return f"{word}: there is no such flag; did you mean --{near}?"


def _switched_off(name: str, switches: Collection[str]) -> str | None:
    """Return what switches a flag off, as `absl` has it, where a dash follows the no."""
    plain = name.lower().replace("-", "_")
    meant = plain.removeprefix("no_")
    return f"no{meant}" if meant != plain and meant in switches else None


def _nearest(name: str, known: Collection[str]) -> str | None:
    plain = name.lower().replace("-", "_")
    # `absl` takes --noflag for a flag that is on or off.
    for word in (plain, plain.removeprefix("no")):
        if word in known:
            return word if word == plain else f"no{word}"
        for flag, synonyms in _SYNONYMS.items():
            if flag in known and word in synonyms:
                return flag
    begun = [flag for flag in known if len(flag) > 2 and plain.startswith(flag)]
    if begun:
        return max(begun, key=len)
    # Sorted, so that a tie has one answer.
    close = difflib.get_close_matches(plain, sorted(known), n=1, cutoff=_LIKENESS)
    return close[0] if close else None
