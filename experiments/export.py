"""`python -m experiments.export` is `jaxdp export`."""

from jaxdp.program.main import start

if __name__ == "__main__":
    start("export", program="python -m experiments.export")
