"""`python -m experiments.spent` is `jaxdp spent`."""

from jaxdp.program.main import start

if __name__ == "__main__":
    start("spent", program="python -m experiments.spent")
