# %% [markdown]
# # A kernel of your own
#
# This notebook distils with a kernel that you write, by the functions below `jaxdp.run`.
# You see every part of a private run: features, a kernel, an accounted mechanism, DP-KIP, the ledger and the certificate.
#
# It takes a minute on a laptop. A GPU makes it faster and is not needed.

# %%
import glob
import importlib.util
import subprocess
import sys

# Where jaxdp is missing: its wheel beside this file, or the address of its repository.
SOURCE = "jaxdp_toolkit-*.whl"
if importlib.util.find_spec("jaxdp") is None:
    found = glob.glob(SOURCE) or [SOURCE]
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *found], check=True)

# %% [markdown]
# ## Choices

# %% tags=["parameters"]
epsilon, delta = 4.0, 1e-5
steps = 180
num_features = 1000
clip_norm = 0.02  # bound of one example's gradient
ridge = 1e-3

# %% [markdown]
# ## Data
#
# Rows `x` (n, d) and labels. Values are scaled by a public constant, the largest one that a pixel can have.

# %%
import jax
import jax.numpy as jnp
import numpy as np
from sklearn.datasets import load_digits

pixels, digits = load_digits(return_X_y=True)
rows = jnp.asarray(pixels / 16, jnp.float32)
x, labels = rows[:1500], jnp.asarray(digits[:1500], jnp.int32)
x_test, y_test = rows[1500:], digits[1500:]

# %% [markdown]
# ## A feature map and its kernel
#
# A feature map takes rows (n, d) to rows (n, p). A row's features depend on that row alone: the guarantee rests on it.
# Its random numbers come from a public seed.
#
# `jaxdp.features` has maps to build on. Here random Fourier features stand for a Gaussian kernel, and the pixels
# themselves are put beside them.

# %%
from jaxdp import features, kernels

waves = features.fourier_features(
    jax.random.key(1), x.shape[1], num_features=num_features, length_scale=2.5
)


def phi(rows):
    """Return waves, and a tenth of the pixels, side by side."""
    return jnp.concatenate([waves(rows), 0.1 * rows], axis=1)


kernel = kernels.from_features(phi)
phi(x[:2]).shape

# %% [markdown]
# Is it a good kernel? Kernel ridge regression on the private data would say so, but a choice made by private data
# leaks. Public data of the same kind are the place to try kernels on.
#
# ## The mechanism
#
# The mechanism is what the run samples and adds noise with, and it is what the accountant judges: they cannot differ.
# `calibrate` gives it the least noise that meets the budget.

# %%
from jaxdp.privacy import SubsampledGaussian, calibrate

mechanism = calibrate(
    SubsampledGaussian(
        num_examples=len(x),
        sampling_rate=1 / 3,
        num_steps=steps,
        clip_norm=clip_norm,
        noise_multiplier=0.0,
    ),
    target_epsilon=epsilon,
    delta=delta,
)
mechanism

# %% [markdown]
# ## Distil
#
# DP-KIP moves one image per class so that kernel ridge regression on them predicts the private labels.
# For a kernel of features, gradients are clipped in feature space, which is as cheap as for a linear kernel.
# `private_key()` takes its randomness from the operating system.

# %%
import optax

from jaxdp.methods import dp_kip
from jaxdp.privacy import private_key

config = dp_kip.KIPConfig(
    ridge=ridge,
    optimizer=optax.adam(optax.cosine_decay_schedule(0.05, steps)),
    average_decay=0.9,
    clip_space="features",
    target_fn=phi,
)
kip = dp_kip.dp_kip(kernel, mechanism, config)
start = kernels.initial_support(
    jax.random.key(0), ipc=1, num_classes=10, dim=x.shape[1], init_scale=0.2
)
state = kip.update(kip.init(start), private_key(), x, labels, mechanism.num_steps)
support = kernels.SupportSet(state.average, state.support.y)

# %% [markdown]
# ## What it is worth
#
# Ten images train this classifier. They serve the kernel, and need not look like digits.

# %%
scores = kernels.kip.predict(kernel, support, x_test, ridge=ridge)
print(f"accuracy on {len(x_test)} other digits: {np.mean(np.argmax(scores, axis=1) == y_test):.1%}")

# %%
import matplotlib.pyplot as plt

_, axes = plt.subplots(1, 10, figsize=(10, 1.4))
for digit, (axis, row) in enumerate(zip(axes, support.x, strict=True)):
    axis.imshow(row.reshape(8, 8), cmap="gray")
    axis.set_title(digit)
    axis.axis("off")
plt.show()

# %% [markdown]
# ## The ledger and the certificate
#
# A ledger holds the numbers of all that was released. Epsilon and the verdict are computed from it.

# %%
from jaxdp.privacy import Certificate, Ledger, Terms, certify

ledger = Ledger(num_examples=len(x), delta=delta, steps=mechanism)
terms = Terms(covers=("the distilled images",), target_epsilon=epsilon)
certificate = Certificate(certify(ledger, terms))
print(certificate)

# %% [markdown]
# With an entry of its own in the project, the kernel becomes a setting of `jaxdp.run` and a flag of the command line:
# `docs/extending.md` says how.
