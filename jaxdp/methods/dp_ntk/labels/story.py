"""What a generator with a teacher makes, in words."""

import dataclasses

from jaxdp.methods.base import FREE
from jaxdp.methods.dp_ntk.story import STORY as GENERATION

COVERS = (
    "labelled.npz: the noisy mean embedding and the weights of the private teacher, with the noisy "
    "mean of features that was taken off, noisy means of how sure and how right it is, with "
    "--priors=equal noisy sizes of classes, and every checkpoint of its training",
    "generator/, checkpoints/ and teacher_checkpoints/: the generator and the teacher; "
    "synthetic.npz and samples.png: what it has drawn and the teacher labelled; any number "
    "of further examples from both",
    *FREE,
)
_FILES = {k: v for k, v in GENERATION.files.items() if k != "embedding.npz"}
STORY = dataclasses.replace(
    GENERATION,
    released="labelled.npz",
    released_metric="teacher_test_accuracy",
    makes_soft_labels=True,
    reused="an embedding and a teacher that an earlier run released: this run has not used the "
    "private training data, and costs no privacy beyond that release",
    files=_FILES
    | {"labelled.npz": "the released embedding and teacher, which --embedding uses again for free"},
    metrics=(("teacher_test_accuracy", None), *GENERATION.metrics),
)
