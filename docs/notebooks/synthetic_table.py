# %% [markdown]
# # A synthetic table
#
# You hold a table of people that must not leave. This notebook makes records of the same columns that may be
# released: noisy counts of columns and pairs are read once, and records are drawn from what was counted.
#
# It takes a minute on a laptop. A GPU is not needed.

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

# %% tags=["parameters"]
import jaxdp

marginals = jaxdp.methods.marginals
settings = marginals.Settings(eps=1.0, delta=1e-6, num_synthetic=5000)

# %% [markdown]
# ## Your table
#
# Put your own data frame here, as `pandas.read_csv` reads it. This one is made up: many have no costs at all, and those who
# are ill have more.

# %%
import numpy as np
import pandas as pd

rng = np.random.default_rng(0)
n = 5000
age = rng.integers(18, 95, n)
smoker = rng.random(n) < 0.25
ill = rng.random(n) < np.clip(0.1 + 0.006 * (age - 18) + 0.3 * smoker, 0, 1)
cost = np.where(rng.random(n) < 0.6, 0.0, rng.gamma(2.0, 400.0 * (1 + 2 * ill))).clip(0, 20000)
frame = pd.DataFrame(
    {
        "age": age,
        "smoker": np.where(smoker, "yes", "no"),
        "cost": cost.round(2),
        "ill": np.where(ill, "yes", "no"),
    }
)
frame.head()

# %% [markdown]
# ## What is public
#
# A schema says what everybody may know: the columns, the bounds that their numbers *can* have, and the categories. Do not
# look these up in the records. A number that comes up again and again is a spike, and comes back exactly.
#
# Who does not know the bounds buys them with a part of epsilon: `jaxdp table FILE` does, on the command line.

# %%
schema = jaxdp.tables.Schema.from_json(
    {
        "columns": {
            "age": {"type": "numeric", "lower": 18, "upper": 110, "integer": True},
            "smoker": {"type": "categorical", "categories": ["no", "yes"]},
            "cost": {"type": "numeric", "lower": 0, "upper": 20000, "decimals": 2, "spikes": [0]},
            "ill": {"type": "categorical", "categories": ["no", "yes"], "target": True},
        }
    }
)
spec = jaxdp.Spec.table("patients", schema, len(frame))

# %% [markdown]
# ## Run

# %%
made, certificate = jaxdp.run(marginals, settings, spec, jaxdp.Private.of_frame(frame, schema))
print(certificate)

# %% [markdown]
# ## What was made

# %%
made

# %% [markdown]
# Beside the real records, which stay here, as this comparison does:


# %%
def in_short(records):
    """Return some numbers that a reader of such a table asks for."""
    ill = records["ill"] == "yes"
    return {
        "mean age": records["age"].mean(),
        "without costs": (records["cost"] == 0).mean(),
        "mean cost, ill": records["cost"][ill].mean(),
        "mean cost, not ill": records["cost"][~ill].mean(),
        "ill, smokers": ill[records["smoker"] == "yes"].mean(),
        "ill, others": ill[records["smoker"] == "no"].mean(),
    }


pd.DataFrame({"real": in_short(frame), "made": in_short(made.frame)}).round(2)

# %% [markdown]
# ## Save
#
# The records become a CSV file, with the certificate beside them. Every further run on the same records spends its own
# budget, and budgets add up.

# %%
print(made.save("synthetic_patients", overwrite=True))  # takes the place of an earlier one
print(jaxdp.load("synthetic_patients"))
