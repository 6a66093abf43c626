"""`python -m experiments.dp_kip_teacher` is `jaxdp run teacher`."""

from jaxdp.program.main import start

if __name__ == "__main__":
    start("dp_kip_teacher", program="python -m experiments.dp_kip_teacher")
