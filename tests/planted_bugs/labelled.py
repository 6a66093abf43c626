"""Bugs of a generator and a teacher under one budget."""

from planted_bugs.mutant import Mutant

_PLAN, _RELEASE = "jaxdp/methods/labelled/plan.py", "jaxdp/methods/labelled/release.py"
_L = "tests/methods/labelled/test_labelled.py::"
_BUDGET = (f"{_L}test_guarantee_both_releases_together_spend_the_budget",)
_SPY = (f"{_L}test_guarantee_what_is_accounted_is_what_is_released",)

MUTANTS = (
    Mutant(
        "teacher and embedding share a key",
        _RELEASE,
        "teacher_key, embedding_key = jax.random.split(key)",
        "teacher_key = embedding_key = key",
        _SPY,
    ),
    Mutant(
        "a teacher beside an embedding has the noise of one alone",
        _PLAN,
        "training=training._replace(mechanism=self.mechanism),",
        "training=training,",
        _SPY,
    ),
    Mutant(
        "a teacher is calibrated as if nothing else were released",
        _PLAN,
        "mechanism = calibrated(settings, unspent, also=also)",
        "mechanism = calibrated(settings, unspent)",
        _BUDGET,
    ),
    Mutant(
        "the ledger of a teacher forgets the embedding",
        _PLAN,
        "also=(by_removal(self.release_of_embedding, self.spec.num_examples),),",
        "also=(),",
        _BUDGET,
    ),
    Mutant(
        "an embedding beside a teacher has half its noise",
        _PLAN,
        "stddev=multiplier / n",
        "stddev=multiplier / (2 * n)",
        _BUDGET,
    ),
)
