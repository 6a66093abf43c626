"""`python -m experiments.dp_kip` is `jaxdp run dp_kip`."""

from jaxdp.program.main import start

if __name__ == "__main__":
    start("dp_kip", program="python -m experiments.dp_kip")
