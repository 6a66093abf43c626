"""What a user may type after `jaxdp`, a module for each."""
