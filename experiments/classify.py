"""`python -m experiments.classify` is `jaxdp classify`."""

from jaxdp.program.main import start

if __name__ == "__main__":
    start("classify", program="python -m experiments.classify")
