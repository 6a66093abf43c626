"""What tables from noisy counts are, in words: for certificates, reports and names of files."""

from jaxdp.methods.base import FREE, Story

COVERS = (
    "counts.npz: the noisy counts of columns and of pairs of columns, and their second moments",
    "synthetic.npz and synthetic.csv: the records that were drawn of the model; any number of "
    "further records from it",
    "quality.json: how far they are from the private ones, with noise, where --quality_share asks",
    *FREE,
)
STORY = Story(
    kind="generated",
    result="synthetic",
    picture="samples.png",
    picture_heading="Samples of the synthetic set",
    curve_heading="Misfit of the model over the run, in standard deviations of noise",
    released="counts.npz",
    covers=COVERS,
    release_clock="count_seconds",
    finish_clock="train_seconds",
    files={
        "synthetic.npz": "the synthetic records as stored, their classes and class names",
        "synthetic.csv": "the synthetic records",
        "samples.png": "the picture above",
        "counts.npz": "the released counts, of which the model was made",
        "quality.json": "how far the records are from the private ones, with noise",
    },
    watched="misfit",
    metrics=(("misfit", None), ("count_seconds", 0.0), ("train_seconds", 0.0), ("history", ())),
)
