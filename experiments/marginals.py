"""`python -m experiments.marginals` is `jaxdp run marginals`."""

from jaxdp.program.main import start

if __name__ == "__main__":
    start("marginals", program="python -m experiments.marginals")
