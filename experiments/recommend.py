"""`python -m experiments.recommend` is `jaxdp recommend`."""

from jaxdp.program.main import start

if __name__ == "__main__":
    start("recommend", program="python -m experiments.recommend")
