"""`python -m experiments.draft_schema` is `jaxdp schema`."""

from jaxdp.program.main import start

if __name__ == "__main__":
    start("draft_schema", program="python -m experiments.draft_schema")
