"""The flags that both ways of distilling have."""

from absl import flags

from experiments.evaluation import flag as evaluation_flag

flags.adopt_module_key_flags(evaluation_flag)

flags.DEFINE_integer("ipc", 1, "Distilled images per class.")
flags.DEFINE_float("epochs", None, "Expected passes over the data (default: by dataset).")
flags.DEFINE_float("clip_norm", None, "Bound on one example's gradient (default: by dataset).")
flags.DEFINE_float("ridge", None, "Ridge relative to the mean of the kernel matrix's diagonal.")
flags.DEFINE_integer(
    "chunk_size", None, "Examples processed at once, which bounds the memory (default: by device)."
)
flags.DEFINE_string(
    "feature_cache",
    None,
    "Folder that keeps features between runs, those of the private data included: as private as "
    "the data themselves.",
)
