"""Hyper-parameters per dataset, chosen on held-out training data; any flag overrides them."""

import dataclasses


@dataclasses.dataclass(frozen=True, kw_only=True)
class Hyperparameters:
    """Values of the flags that depend on the dataset; the flags' help gives their meaning."""

    epochs: float = 10
    batch_size: int = 500
    learning_rate: float = 0.1
    clip_norm: float = 1e-3
    ridge: float = 1e-6
    init_scale: float = 0.3
    smoothing: float = 1.0


_TABLE = {
    "digits": Hyperparameters(epochs=40, batch_size=200),
}


def defaults_for(dataset: str) -> Hyperparameters:
    """Return the table's row of a dataset, or the general one."""
    return _TABLE.get(dataset, Hyperparameters())
