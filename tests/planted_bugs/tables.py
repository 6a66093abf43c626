"""Bugs of tables: of their marginals, and of how records come into their schema."""

from planted_bugs.mutant import Mutant

_MAPS, _FRAMES = "jaxdp/features/marginals.py", "jaxdp/tables/frames.py"
_M, _F = "tests/tables/test_marginals.py::", "tests/tables/test_frames.py::"
_P = "tests/tables/test_pairs.py::"

MUTANTS = (
    Mutant(
        "marginals of all columns are counted in full",
        _MAPS,
        "/ math.sqrt(num_columns)",
        "/ 1.0",
        (f"{_M}test_guarantee_no_record_has_features_of_a_norm_above_one",),
    ),
    Mutant(
        "records of a table are said to be half as far apart",
        _MAPS,
        "_DIAMETER = math.sqrt(2)",
        "_DIAMETER = math.sqrt(2) / 2",
        (f"{_M}test_the_bound_on_distances_is_attained",),
    ),
    Mutant(
        "pairs of columns are counted in full",
        _MAPS,
        "root = math.sqrt(len(pairs.all))",
        "root = 1.0",
        (f"{_P}test_guarantee_no_record_has_features_of_a_norm_above_one",),
    ),
    Mutant(
        "a cell of a pair is counted for a neighbouring one, too",
        "jaxdp/tables/pairs.py",
        "return np.eye(sum(self.widths), dtype=np.float32)[places]",
        "return (np.eye(sum(self.widths)) + np.eye(sum(self.widths), k=1)).astype(\n"
        "            np.float32)[places]",
        (f"{_P}test_guarantee_no_record_has_features_of_a_norm_above_one",),
    ),
    Mutant(
        "a missing number becomes the mean of the others",
        _FRAMES,
        "MISSING_NUMBER if column.nullable else 0.5, at)",
        "MISSING_NUMBER if column.nullable else at[~missing].mean(), at)",
        (f"{_F}test_guarantee_a_missing_number_is_the_middle_whatever_the_others_are",),
    ),
    Mutant(
        "a text in a column decides what is missing in it",
        _FRAMES,
        '        if values.dtype.kind == "f":\n',
        "        if False:\n",
        (f"{_F}test_guarantee_the_type_of_a_column_decides_about_no_value",),
    ),
    Mutant(
        "a missing whole number makes floats of all others",
        "experiments/data/tables.py",
        "batch.to_pandas(integer_object_nulls=True)",
        "batch.to_pandas()",
        (
            "tests/test_own_persons.py::"
            "test_guarantee_a_missing_whole_number_leaves_those_of_others_as_they_are",
        ),
    ),
    Mutant(
        "a missing person changes the names of others",
        "experiments/data/tables.py",
        '"" if gone else as_text(each)',
        '"" if gone else str(each)',
        (
            "tests/test_own_persons.py::"
            "test_guarantee_a_missing_person_leaves_those_of_others_as_they_are",
        ),
    ),
    Mutant(
        "numbers above what the table holds are clipped to that",
        _FRAMES,
        "at = positions(column, np.where(missing, column.bounds[0], numbers))",
        "at = positions(column, np.where(missing, column.bounds[0], numbers)) / np.nanmax(numbers)",
        (f"{_F}test_guarantee_a_record_depends_on_itself_alone",),
    ),
)
