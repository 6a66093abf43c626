"""`python -m experiments.dp_ntk` is `jaxdp run dp_ntk`."""

from jaxdp.program.main import start

if __name__ == "__main__":
    start("dp_ntk", program="python -m experiments.dp_ntk")
