"""Bugs of tables: of their marginals, and of how records come into their schema."""

from planted_bugs.mutant import Mutant

_MAPS, _FRAMES = "jaxdp/features/marginals.py", "jaxdp/tables/frames.py"
_M, _F = "tests/tables/test_marginals.py::", "tests/tables/test_frames.py::"
_P = "tests/tables/test_pairs.py::"
_CELLS, _C = "jaxdp/tables/cells.py", "tests/tables/test_cells.py::"
_S, _B = "tests/tables/test_formulas.py::", "tests/test_bad_tables.py::"
_I = "tests/data/test_one_record.py::"
_T, _N = "tests/tables/test_types.py::", "tests/tables/test_formats.py::"
_D, _W = "tests/test_drafts.py::", "tests/tables/test_raw.py::"

MUTANTS = (
    Mutant(
        "a text with a NUL decides what others are stored as",
        _CELLS,
        "    at, known = places_of(values)\n",
        "    import pandas as pd\n\n    at, known = pd.factorize(values)\n",
        (f"{_W}test_guarantee_a_text_with_a_nul_is_taken_for_no_other",),
    ),
    Mutant(
        "a text with a NUL decides what others are bought as",
        "jaxdp/tables/raw.py",
        "at, distinct = cells.places_of(there)",
        "import pandas as pd\n        at, distinct = pd.factorize(there)",
        (f"{_W}test_guarantee_a_text_with_a_nul_is_taken_for_no_other",),
    ),
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
        "MISSING_NUMBER if column.nullable else at[~is_missing].mean(), at)",
        (f"{_F}test_guarantee_a_missing_number_is_the_middle_whatever_the_others_are",),
    ),
    Mutant(
        "a text in a column decides what is missing in it",
        _CELLS,
        "        return float(text), float(np.float32(float(text)))",
        "        return ()",
        (f"{_F}test_guarantee_the_type_of_a_column_decides_about_no_value",),
    ),
    Mutant(
        "a missing whole number makes floats of all others",
        "jaxdp/program/data/table_files.py",
        "batch.to_pandas(integer_object_nulls=True)",
        "batch.to_pandas()",
        (
            "tests/test_own_persons.py::"
            "test_guarantee_a_missing_whole_number_leaves_those_of_others_as_they_are",
        ),
    ),
    Mutant(
        "a missing person changes the names of others",
        _CELLS,
        '"" if gone else _text(value)',
        '"" if gone else str(value)',
        (
            "tests/test_own_persons.py::"
            "test_guarantee_a_missing_person_leaves_those_of_others_as_they_are",
        ),
    ),
    Mutant(
        "numbers above what the table holds are clipped to that",
        _FRAMES,
        "at = positions(column, np.where(is_missing, column.bounds[0], found))",
        "at = positions(column, np.where(is_missing, column.bounds[0], found)) / np.nanmax(found)",
        (f"{_F}test_guarantee_a_record_depends_on_itself_alone",),
    ),
    Mutant(
        "long missing markers count in no column of whole numbers",
        _CELLS,
        "return (int(text),)",
        "return (int(text),) if len(text) < 16 else ()",
        (f"{_C}test_guarantee_a_long_missing_marker_counts_with_and_without_a_null",),
    ),
    Mutant(
        "whole numbers are compared with missing ones as floats",
        _CELLS,
        "found[values == mark] = math.nan",
        "found[values.astype(np.float64) == float(mark)] = math.nan",
        (f"{_C}test_guarantee_a_long_missing_marker_counts_with_and_without_a_null",),
    ),
    Mutant(
        "True, 1 and 1.0 of one column count as one value",
        _CELLS,
        "if set(map(type, values)) != {str}:",
        "if len(values) == 0:",
        (f"{_F}test_guarantee_values_that_are_equal_do_not_speak_for_each_other",),
    ),
    Mutant(
        "a null makes floats of the whole numbers beside it",
        _CELLS,
        "found = values.to_numpy(kind, na_value=0) if null.any()",
        "found = values.to_numpy(np.float64, na_value=0).astype(kind) if null.any()",
        (f"{_C}test_guarantee_persons_are_named_by_their_own_cell",),
    ),
    Mutant(
        "a null in a column of categories counts as the last of them",
        _CELLS,
        "np.append(null, True)[at]",
        "np.append(null, False)[at]",
        (f"{_C}test_guarantee_a_cell_is_stored_as_it_is_alone",),
    ),
    Mutant(
        "a number of float32 is another text beside values of other types",
        "jaxdp/tables/columns.py",
        "    number = float(value)\n",
        "    if isinstance(value, np.floating):\n        return str(value)\n"
        "    return str(float(value))\n    number = float(value)\n",
        (f"{_C}test_guarantee_a_cell_is_stored_as_it_is_alone",),
    ),
    Mutant(
        "flags are numbers only where all of a column are",
        _CELLS,
        "    if not isinstance(value, _NUMBERS)",
        "    if isinstance(value, bool) or not isinstance(value, _NUMBERS)",
        (f"{_F}test_flags_may_come_typed",),
    ),
    Mutant(
        "each chunk of a CSV file has types of its own",
        "jaxdp/program/data/table_files.py",
        '"dtype": str,',
        '"dtype": None,',
        (f"{_C}test_guarantee_parts_of_a_csv_file_decide_about_no_record",),
    ),
    Mutant(
        "the first image decides how bright all others may be",
        "jaxdp/program/data/image_stack.py",
        "x[number] = resized(found[1].pixels, target)",
        "x[number] = resized(np.minimum(found[1].pixels, first[1].pixels.max()), target)",
        (f"{_I}test_guarantee_an_image_decides_about_no_other",),
    ),
    Mutant(
        "a category may be a formula of a spreadsheet",
        "jaxdp/tables/columns.py",
        "if opens_as_formula(text):",
        "if opens_as_formula(text) and text == self.name:",
        (
            f"{_S}test_formulas_are_refused_wherever_a_schema_has_them",
            f"{_S}test_a_stored_run_brings_no_formula_into_a_table",
        ),
    ),
    Mutant(
        "what follows a semicolon may be a formula",
        "jaxdp/tables/formulas.py",
        "_ENDS.split(text)",
        "[text]",
        (f"{_S}test_formulas_are_refused_wherever_a_schema_has_them",),
    ),
    Mutant(
        "a class of a stored run may be a formula",
        "jaxdp/program/csv_lines.py",
        "if isinstance(cell, str) and opens_as_formula(cell):",
        "if isinstance(cell, str) and cell == opens_as_formula:",
        (f"{_S}test_exports_of_a_stored_run_hold_no_formula",),
    ),
    Mutant(
        "a message tells how many values are NaN",
        "jaxdp/program/data/checks.py",
        'f"{where} has NaN or infinite values:',
        'f"{where} has {np.count_nonzero(~np.isfinite(x))} NaN or infinite values:',
        (f"{_I}test_what_is_wrong_with_arrays_is_told_without_counts_and_values",),
    ),
    Mutant(
        "a message tells the largest label",
        "jaxdp/program/data/classes.py",
        "reach beyond the number of examples, {num}:",
        "reach {num_classes - 1}, there are {num} examples:",
        (f"{_I}test_what_is_wrong_with_arrays_is_told_without_counts_and_values",),
    ),
    Mutant(
        "a message tells how many images are damaged",
        "jaxdp/program/data/image_file.py",
        'more = " and others" if',
        'more = f" and {len(paths) - _NAMED} others" if',
        (f"{_I}test_how_many_images_are_damaged_is_not_told",),
    ),
    Mutant(
        "a message quotes what a part of a Parquet file holds",
        "jaxdp/program/data/table_files.py",
        '"has a part that cannot be read: it is',
        'f"has a part that cannot be read ({error}): it is',
        (f"{_B}test_what_is_wrong_with_a_table_is_told_without_its_values",),
    ),
    Mutant(
        "a message tells what stands in a line of a CSV file",
        "jaxdp/program/data/table_files.py",
        'where = f" ({place[0]})" if place else ""',
        'where = f" ({place[0]})" + str(error).split(place[0])[-1] if place else ""',
        (f"{_B}test_what_is_wrong_with_a_table_is_told_without_its_values",),
    ),
    Mutant(
        "whole numbers that are dates are taken as days since 1970 where no text is beside them",
        _FRAMES,
        "cells.distinct if column.type in MOMENTS else cells.numbers_of(column, missing)",
        "cells.numbers_of(column, missing)",
        (f"{_T}test_types_of_frames_and_of_parquet_come_back",),
    ),
    Mutant(
        "a message quotes a cell that is no date",
        _CELLS,
        "is a {column.type}, and the table holds cells there",
        "is a {column.type}, and the table holds {value!r} there",
        (f"{_T}test_what_is_no_date_stops_without_its_text",),
    ),
    Mutant(
        "a missing number in a text is compared by its digits",
        _CELLS,
        "        if found in marks:\n            return math.nan\n",
        "",
        (f"{_C}test_guarantee_a_missing_number_is_missing_however_it_is_written",),
    ),
    Mutant(
        "a missing number is another one where all of a column are numbers",
        _CELLS,
        "texts = missing | set(map(as_text, _missing_numbers(column, missing)))",
        "texts = missing",
        (f"{_C}test_guarantee_a_missing_number_is_missing_however_it_is_written",),
    ),
    Mutant(
        "a number is no code where another column is bought",
        _CELLS,
        "            if (code := listed.code(value)) is not None:\n                return code\n",
        "",
        (f"{_W}test_guarantee_numbers_are_the_codes_that_are_listed",),
    ),
    Mutant(
        "a listed day is missing where another column is bought",
        _CELLS,
        "        if listed.of_text(value) is None:\n            if (code",
        "        if True:\n            if (code",
        (f"{_W}test_guarantee_a_cell_of_any_type_is_stored_as_it_would_have_been_at_once",),
    ),
    Mutant(
        "bytes are no category",
        _CELLS,
        'return value.decode("utf-8")',
        "return str(value)",
        (f"{_C}test_guarantee_bytes_of_a_parquet_file_are_the_text_that_they_hold",),
    ),
    Mutant(
        "a message quotes bytes that are no text",
        _CELLS,
        'raise error("the table holds bytes there',
        'raise error(f"the table holds {value!r} there',
        (f"{_C}test_guarantee_bytes_that_are_no_text_are_refused_untold",),
    ),
    Mutant(
        "columns that are made new hold numbers of the records",
        _FRAMES,
        "{new.name: new.make(len(stored), seed) for new in schema.new}",
        "{new.name: new.make(len(stored)) if y is None or not len(y) else\n"
        "               stored[:, 0] for new in schema.new}",
        (f"{_T}test_guarantee_nothing_in_a_table_is_looked_at_for_new_columns",),
    ),
    Mutant(
        "a prefix runs as a formula",
        "jaxdp/tables/formats.py",
        "_require_plain(name, getattr(self, name))",
        "getattr(self, name)",
        (f"{_N}test_guarantee_no_form_of_numbers_begins_a_formula",),
    ),
    Mutant(
        "a format of dates runs as a formula",
        "jaxdp/tables/columns.py",
        "if opens_as_formula(written):",
        "if opens_as_formula(name):",
        (f"{_N}test_guarantee_nothing_that_is_written_runs_in_a_spreadsheet",),
    ),
    Mutant(
        "an identifier runs as a formula",
        "jaxdp/tables/new_columns.py",
        'if set(places[0]) & set(_SIGNS + " "):',
        'if set(places[0]) & set(" "):',
        (f"{_N}test_guarantee_nothing_that_is_written_runs_in_a_spreadsheet",),
    ),
    Mutant(
        "a message quotes the record in the place of a header",
        "jaxdp/program/data/headers.py",
        'return f"the first line looks like a record: {_ASK}" if',
        'return f"the first line {names} looks like a record: {_ASK}" if',
        (f"{_D}test_guarantee_a_record_in_the_place_of_a_header_is_refused",),
    ),
    Mutant(
        "two stray quotes make one record of all between them",
        "jaxdp/program/data/table_files.py",
        "fault = None if dialect.line_breaks else dialects.fault_of_breaks(records, num_before)",
        "fault = None",
        (
            "tests/data/test_one_column.py::"
            "test_guarantee_a_stray_quote_takes_no_other_record_along",
        ),
    ),
    Mutant(
        "a NUL hides a line break",
        "jaxdp/program/data/plain_text.py",
        "        if nul:\n",
        "        if False:\n",
        ("tests/data/test_one_column.py::test_guarantee_a_nul_hides_no_line_break",),
    ),
    Mutant(
        "a run takes a record for the header",
        "jaxdp/program/data/tables.py",
        "if fault is not None and not table_files.is_parquet(source):",
        "if fault is not None and table_files.is_parquet(source):",
        (f"{_D}test_guarantee_a_run_asks_the_schema_alone_whether_there_is_a_header",),
    ),
    Mutant(
        "a draft holds the categories of the data",
        "jaxdp/program/data/guesses.py",
        '    return {"type": "categorical", "categories": None, "nullable": None}\n\n\ndef _shape',
        '    return {"type": "categorical", "categories": sorted(words), "nullable": None}\n\n\n'
        "def _shape",
        (f"{_D}test_guarantee_a_draft_holds_no_value_beside_formats",),
    ),
    Mutant(
        "a draft holds the value that all records have",
        "jaxdp/program/data/guesses.py",
        '{"type": "constant", "value": None, "about": _ONE}',
        '{"type": "constant", "value": there.iloc[0], "about": _ONE}',
        (f"{_D}test_guarantee_a_draft_holds_no_value_beside_formats",),
    ),
)
