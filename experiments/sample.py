"""`python -m experiments.sample` is `jaxdp sample`."""

from jaxdp.program.main import start

if __name__ == "__main__":
    start("sample", program="python -m experiments.sample")
