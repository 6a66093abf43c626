"""What the private teacher makes, in words: for certificates, reports and names of files."""

from jaxdp.methods.base import DISTILLED_FILES, FREE, Story

SOURCES = {
    "teacher": "a private teacher",
    "embedding": "private class means",
    "both": "a private teacher and class means",
}
SOURCES_BESIDE_IMAGES = {
    "embedding": "a private generator",
    "both": "a private teacher and a private generator",
}
_WEIGHTS = (
    "the weights of the private teacher, with the noisy mean of features that was taken off, noisy "
    "means of how sure and how right it is, with --priors=equal noisy sizes of classes, and every "
    "checkpoint of its training"
)
COVERS = {
    "teacher": _WEIGHTS,
    "embedding": "the noisy class means",
    "both": f"{_WEIGHTS}, and the noisy class means",
    "beside images": f"{_WEIGHTS}, together with the embedding that --synthetic was generated from",
}
DERIVED = (
    "distilled.npz and distilled.png, which are computed from these alone",
    *FREE,
)
DERIVED_FROM_IMAGES = (
    "distilled.npz and distilled.png, which are computed from the images of --synthetic alone",
    *FREE,
)
STORY = Story(
    released="teacher.npz",
    release_clock="teacher_seconds",
    finish_clock="distill_seconds",
    files={
        "teacher.npz": "the private teacher, which --teacher uses again",
        **DISTILLED_FILES,
    },
    watched="krr_test_accuracy",
    metrics=(
        ("krr_test_accuracy", None),
        ("krr_test_accuracy_before", None),
        ("teacher_test_accuracy", None),
        ("teacher_seconds", 0.0),
        ("distill_seconds", 0.0),
        ("train_seconds", 0.0),
    ),
)
