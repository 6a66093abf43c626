"""What DP-NTK makes, in words: for certificates, reports and names of files."""

from jaxdp.methods.base import FREE, Story

COVERS = (
    "embedding.npz: the noisy mean embedding, and the noisy class weights where there are any",
    "generator/ and checkpoints/: the generator; synthetic.npz and samples.png: what it has drawn; "
    "any number of further examples from it",
    *FREE,
)
TABLE = "synthetic.csv: the same records as a table"
STORY = Story(
    kind="generated",
    result="synthetic",
    picture="samples.png",
    picture_heading="Samples of the synthetic set",
    curve_heading="Distance to the released embedding over the run",
    released="embedding.npz",
    release_clock="embedding_seconds",
    finish_clock="train_seconds",
    reused="an embedding that an earlier run released: this run has not used the private training "
    "data, and costs no privacy beyond that release",
    files={
        "synthetic.npz": "the synthetic set: inputs, labels and class names",
        "synthetic.csv": "the synthetic records of a table",
        "samples.png": "the picture above",
        "embedding.npz": "the released embedding, which --embedding uses again for free",
        "generator/": "the generator, from which `jaxdp sample` draws any number of examples",
    },
    watched="embedding_distance",
    metrics=(
        ("embedding_distance", None),
        ("embedding_seconds", 0.0),
        ("train_seconds", 0.0),
        ("history", ()),
    ),
)
