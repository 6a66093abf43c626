"""The flags that are about a run and not about a method: where data are, where results go."""

import dataclasses
from typing import ClassVar

from jaxdp.methods.settings import LEAST_SHARE, bad, check_fields, setting
from jaxdp.program.data.resizing import LARGEST
from jaxdp.program.evaluation import registry
from jaxdp.tables.schema import BUILT_IN, FORMS


@dataclasses.dataclass(frozen=True, kw_only=True)
class ProgramFlags:
    """What every program has."""

    GROUP: ClassVar[str] = "output"

    keep_programs: bool = setting(
        True,
        "Keep compiled programs in the user's cache folder, for faster starts.",
        fixed=False,
    )

    def __post_init__(self) -> None:
        check_fields(self)


@dataclasses.dataclass(frozen=True, kw_only=True)
class DataFlags:
    """Which data, and how they are read."""

    GROUP: ClassVar[str] = "data"

    dataset: str = setting(
        "digits",
        "digits (bundled), {data_dir}/{name}.npz, an image folder "
        "{data_dir}/{name}/{train,test}/{class}/ or {data_dir}/{name}/{class}/, or a tfds "
        "name: mnist, fashion_mnist, svhn_cropped, cifar10, cifar100.",
        usual=True,
        only="images",
    )
    image_size: str | None = setting(
        None,
        "Size to which every image is resized by itself: a side in pixels, WIDTHxHEIGHT, or full "
        f"for that which images have (default: {LARGEST}; images of one size that is not larger "
        "keep it).",
        usual=True,
        only="images",
    )
    pixel_bits: int | None = setting(
        None,
        "Bits of a pixel that are in use, in images of 16 bits whose files do not say so "
        "(default: 16; npz files of int16 need it).",
        at_least=1,
        at_most=16,
        only="images",
    )
    channels: int | None = setting(
        None,
        "1 makes every image of a folder grey, 3 makes it RGB, each by itself: for folders in "
        "which both are (default: what all images are).",
        at_least=1,
        at_most=3,
        only="images",
    )
    validation: bool = setting(
        False,
        "Add a validation part, such as MedMNIST's val_images, to the training examples.",
        only="images",
    )
    class_names: str | None = setting(
        None,
        "All classes in order, as labels name them: cat,dog, or 1,2,3 for labels that begin at 1 "
        "(default: those that the data declare, else labels 0, 1, ... are counted).",
        usual=True,
        only="images",
    )
    csv: str | None = setting(
        None,
        "A table, CSV or Parquet, instead of --dataset; --schema says what is public of it.",
        usual=True,
        only="table",
    )
    schema: str | None = setting(
        None,
        "What is public about a table: a JSON file (jaxdp schema begins one), or "
        f"{', '.join(BUILT_IN)}.",
        usual=True,
        only="table",
    )
    target: str | None = setting(
        None,
        "Column of --csv that is to be predicted (default: what --schema marks).",
        usual=True,
        only="table",
    )
    no_header: bool | None = setting(
        None,
        "Whether --csv and --test_csv have no first line of names; then columns are called "
        "column_1, column_2, ... (default: as --schema says).",
        only="table",
    )
    line_breaks: bool | None = setting(
        None,
        "Whether fields of --csv and --test_csv may hold line breaks in quotes (default: as "
        "--schema says; a record with one is refused, as two stray quotes make one of all lines "
        "between them).",
        only="table",
    )
    test_csv: str | None = setting(
        None,
        "Test records of a table (default: some are held out).",
        usual=True,
        only="table",
    )
    test_fraction: float | None = setting(
        None,
        "Part that is held out for tests, of a table or of an image folder that has class folders "
        "alone (default: 0.1).",
        above=0,
        below=1,
        usual=True,
    )
    codes: str | None = setting(
        None,
        "How a table's columns become numbers: {names} (default: one_hot); raw takes a category "
        "as its place in the list, as the papers do.",
        among=FORMS,
        only="table",
    )
    records_per_person: int | None = setting(
        None,
        "Most records of one person: then all of them together are what is protected. Where the "
        "data say whose each record is, further ones are left out (default: a record is a person).",
        at_least=1,
        at_most=100,
        usual=True,
    )
    person_column: str | None = setting(
        None,
        "Column of --csv that says whose a record is; npz files have group_train for that.",
        usual=True,
        only="table",
    )
    person_separator: str | None = setting(
        None,
        "What ends a person's name at the beginning of an image file's: _ for p17_left.png.",
        only="images",
    )
    data_dir: str = setting(
        "data",
        "Where datasets are looked for.",
        fixed=False,
        usual=True,
        only="images",
    )
    subset: int | None = setting(
        None,
        "Use at most so many examples of each split, chosen by --seed (default: all).",
        above=0,
    )

    def __post_init__(self) -> None:
        check_fields(self)
        if self.channels == 2:
            raise bad(self, "channels", "must be 1 or 3")


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunFlags(ProgramFlags, DataFlags):
    """What every run of a method has."""

    GROUP: ClassVar[str] = "output"

    out_dir: str | None = setting(
        None, "Where results go (default: a folder in runs/).", fixed=False, usual=True
    )
    schema_share: float | None = setting(
        None,
        "Part of the budget that buys what the schema of a table leaves open: bounds, bins, "
        "categories, missing values (default: 0.2, for bins alone 0.1); 0 buys nothing.",
        at_least=0,
        at_most=1 - LEAST_SHARE,
        group="privacy",
        only="table",
    )
    schema_out: str | None = setting(
        None,
        "Where the complete schema goes when facts of it are bought (default: beside --csv, "
        "NAME.bought.json); one that is there is used again at no cost.",
        fixed=False,
        only="table",
    )
    ledger: str | None = setting(
        None,
        "File that counts what all runs on the same data release (default: beside your own data, "
        "NAME.ledger.jsonl; none for datasets and schemas known by name); none counts nothing.",
        fixed=False,
        usual=True,
        group="privacy",
    )
    budget: float | None = setting(
        None,
        "Most epsilon of all runs in --ledger together, from now on; a run that would exceed it is "
        "refused (default: the last one that was given).",
        above=0,
        fixed=False,
        usual=True,
        group="privacy",
    )
    evaluate: str | None = setting(None, registry.help_text(), fixed=False, usual=True)
    check_fidelity: bool = setting(
        False,
        "Also compare what is made with private records: a table by values, pairs of columns and "
        "what models learn of them, images by a page that shows both. All of it is private itself, "
        "in a folder beside the run's, {out_dir}.not_for_release.",
        fixed=False,
        usual=True,
    )
    ceiling: bool = setting(
        False,
        "Also train a classifier on the training records without privacy, and print its test "
        "accuracy: a number that is private itself, in {out_dir}.not_for_release.",
        fixed=False,
    )
    resume: bool = setting(
        False, "Continue the run in out_dir from its last checkpoint.", fixed=False, usual=True
    )
    overwrite: bool = setting(False, "Replace the run in out_dir.", fixed=False, usual=True)
    coordinator: str | None = setting(
        None,
        "HOST:PORT of the first of several processes that share this run, on one host or on "
        "several; scheduler where Slurm or MPI has started them.",
        fixed=False,
    )
    num_processes: int | None = setting(
        None, "How many processes share this run.", at_least=1, fixed=False
    )
    process_id: int | None = setting(
        None, "Which of them this is, from 0; the first one writes files.", at_least=0, fixed=False
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class DistillFlags(RunFlags):
    """What runs that distil have beside."""

    feature_cache: str | None = setting(
        None,
        "Folder that keeps features between runs, those of the private data included: as private "
        "as the data themselves.",
        fixed=False,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class KipFlags(DistillFlags):
    """Flags of runs of DP-KIP."""

    eval_every: int | None = setting(
        None,
        "Steps between checkpoints with a test accuracy (default: a tenth).",
        above=0,
        fixed=False,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class TeacherFlags(DistillFlags):
    """Flags of runs with a private teacher."""

    teacher: str | None = setting(
        None,
        "Released teacher.npz of an earlier run to distil from: the private data are not used "
        "again.",
        usual=True,
        group="data",
    )
    synthetic: str | None = setting(
        None,
        "Folder of a finished run of dp_ntk: with --match=embedding or both, images "
        "start as representatives of what it generated and are matched with that, not with class "
        "means. What it released counts towards --eps. One with --labels=teacher brings its "
        "teacher, and nothing is released anew.",
        usual=True,
        group="data",
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class CountFlags(RunFlags):
    """Flags of runs that make a table from noisy counts."""

    counts: str | None = setting(
        None,
        "Released counts.npz of an earlier run to make a table from: the private data are not used "
        "again.",
        usual=True,
        group="data",
        only="table",
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class GenerateFlags(RunFlags):
    """Flags of runs that generate."""

    embedding: str | None = setting(
        None,
        "Released embedding.npz of an earlier run to train on: the private data are not used "
        "again.",
        usual=True,
        group="data",
    )
    inception_weights: str | None = setting(
        None,
        "File of the Inception network, as torch-fidelity has it, for --evaluate=inception, which "
        "it adds; needs the extra [fid]. Unpickled by torch: one that you trust.",
        fixed=False,
    )
    check_copies: bool = setting(
        False,
        "Also measure how near the result comes to training examples: figures that are private "
        "themselves, in a folder beside the run's, {out_dir}.not_for_release.",
        fixed=False,
    )
