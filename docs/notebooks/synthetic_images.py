# %% [markdown]
# # Synthetic images
#
# This notebook makes a labelled synthetic set of private images, trains a classifier of scikit-learn on it, and draws more.
# The private images are read once, with noise. The generator is trained on what that released, so it may draw as much as you like.
#
# It takes two minutes on a laptop. A GPU makes it faster and is not needed.

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
#
# `eps` is the privacy budget, `features` says what is released of the images, and `steps` is how long the generator is trained.
# Steps cost no privacy.

# %% tags=["parameters"]
import jaxdp

dp_ntk = jaxdp.methods.dp_ntk
settings = dp_ntk.Settings(
    eps=4.0, delta=1e-5, features="rff", steps=400, batch_size=200, num_synthetic=3000
)

# %% [markdown]
# ## Data
#
# `x` are images (n, h, w) or (n, h, w, channels), and `y` labels (n,). The last 297 digits are kept for a test.
# For rows of numbers in place of images take `jaxdp.Spec.rows`.

# %%
from sklearn.datasets import load_digits

digits = load_digits()
x, x_test = digits.images[:1500], digits.images[1500:]
y, y_test = digits.target[:1500], digits.target[1500:]
names = [f"digit {k}" for k in range(10)]
spec = jaxdp.Spec.images("my digits", x.shape, class_names=names, low=0, high=16)

# %% [markdown]
# ## Generate

# %%
made, certificate = jaxdp.run(dp_ntk, settings, spec, jaxdp.Private(x, y))
print(certificate)

# %%
made

# %% [markdown]
# ## Train on it
#
# The classifier sees synthetic images alone and is tested on real ones. Beside it stands the same classifier trained on the
# real images: what privacy costs here.

# %%
from sklearn.linear_model import LogisticRegression


def as_rows(images):
    """Return images as rows in [0, 1]."""
    return images.reshape(len(images), -1) / 16


synthetic = LogisticRegression(max_iter=1000).fit(as_rows(made.x), made.y)
real = LogisticRegression(max_iter=1000).fit(as_rows(x), y)
print(f"trained on {len(made.x)} synthetic images: {synthetic.score(as_rows(x_test), y_test):.1%}")
print(f"trained on the {len(x)} private images: {real.score(as_rows(x_test), y_test):.1%}")

# %% [markdown]
# ## Draw more
#
# `made.generator(labels, seed=...)` draws one image for every label. It costs no further privacy.

# %%
import matplotlib.pyplot as plt
import numpy as np

threes = made.generator(np.full(10, 3), seed=1)
_, axes = plt.subplots(1, 10, figsize=(10, 1.2))
for axis, image in zip(axes, threes, strict=True):
    axis.imshow(image[..., 0], cmap="gray", vmin=0, vmax=16)
    axis.axis("off")
plt.show()

# %% [markdown]
# ## Save
#
# Another run on the same private data would spend its own budget: budgets add up.

# %%
print(made.save("synthetic_digits", overwrite=True))  # takes the place of an earlier one
print(jaxdp.load("synthetic_digits"))
