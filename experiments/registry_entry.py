"""`python -m experiments.registry_entry` is `jaxdp registry`."""

from jaxdp.program.main import start

if __name__ == "__main__":
    start("registry_entry", program="python -m experiments.registry_entry")
