"""What DP-KIP makes, in words: for certificates, reports and names of files."""

from jaxdp.methods.base import FREE, Story

COVERS = (
    "distilled.npz and distilled.png: the distilled images (their labels are fixed beforehand)",
    "every checkpoint in checkpoints/, in whatever number",
    *FREE,
)
STORY = Story(
    release_clock="train_seconds",
    finish_clock="train_seconds",
    needs_range=False,  # kernels take values of any size
    watched="krr_test_accuracy",
    metrics=(
        ("krr_test_accuracy", None),
        ("krr_test_accuracy_before", None),
        ("train_seconds", 0.0),
        ("history", ()),
    ),
)
