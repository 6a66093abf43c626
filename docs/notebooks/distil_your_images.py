# %% [markdown]
# # Distil your images
#
# You hold labelled images that must not leave. This notebook makes a few images per class of them, and a classifier.
# Both may be released under a differential privacy guarantee, and a certificate says which.
#
# It takes about two minutes on a laptop. A GPU makes it faster and is not needed.

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
# `eps` is the privacy budget: the smaller, the better the protection and the more noise.
# 1500 images are few, so this notebook takes 8. Tens of thousands of images do well with 1.
# `ipc` is the number of images per class, and `match="both"` makes them look like their classes.
# What is left out has a default that depends on the data.

# %% tags=["parameters"]
import jaxdp

teacher = jaxdp.methods.teacher
settings = teacher.Settings(ipc=10, eps=8.0, delta=1e-5, match="both")

# %% [markdown]
# ## Your data
#
# Put your own arrays here: `x` (n, h, w) or (n, h, w, channels), uint8, or floats whose range you give below as `low` and `high`; and labels `y` (n,), whole numbers from 0.
# Here they are scikit-learn's digits, whose pixels are numbers from 0 to 16. The last 297 are kept for a test.

# %%
from sklearn.datasets import load_digits

digits = load_digits()
x, x_test = digits.images[:1500], digits.images[1500:]
y, y_test = digits.target[:1500], digits.target[1500:]
x.shape, y.shape

# %% [markdown]
# ## What is public
#
# The guarantee is about the images and labels, and not about what you declare here: how many there are, their shape,
# the names of the classes, and the least and largest value that a pixel *can* have. Do not look these up in the data.

# %%
names = [f"digit {k}" for k in range(10)]
spec = jaxdp.Spec.images("my digits", x.shape, class_names=names, low=0, high=16)
spec

# %% [markdown]
# ## Run
#
# `jaxdp.Private` marks what is private. The private teacher reads it once, with noise; the images are distilled from what it released.

# %%
made, certificate = jaxdp.run(teacher, settings, spec, jaxdp.Private(x, y))

# %% [markdown]
# ## What was made
#
# One row per class. `made.x`, `made.y` and `made.class_names` are the labelled set, in the units of your data.

# %%
made

# %%
made.x.shape, made.y.shape, made.class_names[:3]

# %% [markdown]
# ## What is guaranteed

# %%
print(certificate)
print()
print("may leave:", *certificate.facts["may_leave"], sep="\n  ")
print("is one record:", certificate.facts["unit"])

# %% [markdown]
# ## Use it
#
# `made.classifier` is a classifier in the style of scikit-learn. It was released with the images and takes images as you store them.
#
# An accuracy on images of your own has no noise: it is as private as these images are.

# %%
print("predicted:", made.classifier.predict(x_test[:8]))
print("true:     ", y_test[:8])
print(f"accuracy on {len(x_test)} images: {made.classifier.score(x_test, y_test):.1%}")

# %% [markdown]
# The images train other classifiers, too:

# %%
from sklearn.linear_model import LogisticRegression

rows, test_rows = made.x.reshape(len(made.x), -1) / 16, x_test.reshape(len(x_test), -1) / 16
accuracy = LogisticRegression(max_iter=1000).fit(rows, made.y).score(test_rows, y_test)
print(f"logistic regression on {len(rows)} distilled images: {accuracy:.1%}")

# %% [markdown]
# ## Save
#
# The certificate goes with the images. Every further run on the same data spends its own budget, and budgets add up.

# %%
print(made.save("distilled_digits", overwrite=True))  # takes the place of an earlier one
print(jaxdp.load("distilled_digits"))
