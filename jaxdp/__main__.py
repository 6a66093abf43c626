"""`python -m jaxdp COMMAND` is `jaxdp COMMAND`."""

from jaxdp.program.main import main

main()
