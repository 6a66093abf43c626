"""Bugs of the local page: who may talk to it, and what it prints."""

from planted_bugs.mutant import Mutant

_GUARD, _G = "jaxdp/program/ui/guard.py", "tests/ui/test_guard.py::"
_FAULTS, _F = "jaxdp/program/ui/faults.py", "tests/ui/test_what_goes_wrong.py::"
_T = "tests/ui/test_tab.py::"
_COOKIE = (f"{_G}test_guarantee_nothing_is_served_without_the_cookie",)
_HOST = (f"{_G}test_guarantee_another_name_of_this_machine_is_refused",)
_ORIGIN = (f"{_G}test_guarantee_a_page_of_another_origin_is_refused",)

MUTANTS = (
    Mutant(
        "whoever has any cookie is served",
        _GUARD,
        '        elif self._has_cookie(headers.get(b"cookie", "")):',
        '        elif headers.get(b"cookie", ""):',
        _COOKIE,
    ),
    Mutant(
        "files need no cookie",
        _GUARD,
        '        elif self._has_cookie(headers.get(b"cookie", "")):',
        '        elif scope["path"].endswith(".js") or self._has_cookie(\n'
        '            headers.get(b"cookie", "")\n'
        "        ):",
        _COOKIE,
    ),
    Mutant(
        "a cookie that begins as the token is taken",
        _GUARD,
        '        return hmac.compare_digest(given.get(self._name, "").encode(), '
        "self.token.encode())",
        '        return given.get(self._name, "").startswith(self.token)',
        _COOKIE,
    ),
    Mutant(
        "any token opens the page",
        _GUARD,
        "        return hmac.compare_digest(_token_of(scope).encode(), self.token.encode())\n",
        "        return bool(_token_of(scope))\n",
        (f"{_G}test_guarantee_a_wrong_token_is_refused",),
    ),
    Mutant(
        "an address for once opens the page again",
        _GUARD,
        "        self._once.discard(given)\n",
        "",
        (f"{_G}test_guarantee_the_address_that_a_browser_is_started_with_opens_once",),
    ),
    Mutant(
        "a file with the address for once is for all to read",
        "jaxdp/program/ui/server.py",
        "    new_files.write_part(file, page.encode(), mode=0o600)\n",
        "    new_files.write_part(file, page.encode())\n",
        (
            f"{_G}test_guarantee_the_address_that_a_browser_is_started_with_is_in_a_file_of_its_owner",
        ),
    ),
    Mutant(
        "a reading stays where it is said otherwise",
        "jaxdp/program/ui/data_part.py",
        '        self._tab.reading[name] = text or ""\n        self._forget()\n',
        '        self._tab.reading[name] = text or ""\n',
        (
            f"{_T}test_guarantee_a_reading_ends_where_it_is_said_otherwise"
            "[Most records of a person-5]",
        ),
    ),
    Mutant(
        "an agreement stays where a column is edited",
        "jaxdp/program/ui/columns_part.py",
        "            take(event)\n            self._edited()\n",
        "            take(event)\n",
        (f"{_T}test_guarantee_an_agreement_ends_where_something_else_is_said",),
    ),
    Mutant(
        "a verdict is read off a file",
        "jaxdp/program/ui/results.py",
        "        return verify.lines(loading.opened(folder, str(folder)))[-1]\n",
        '        return (folder / "privacy.json").read_text().split(\'"verdict": "\')[1]\n',
        ("tests/ui/test_results.py::test_guarantee_a_result_that_was_changed_is_said_to_stay",),
    ),
    Mutant(
        "any name of the machine is right",
        _GUARD,
        "        if not (is_here and is_own):",
        "        if not is_own:",
        _HOST,
    ),
    Mutant(
        "pages of other origins may connect",
        _GUARD,
        "        if not (is_here and is_own):",
        "        if not is_here:",
        _ORIGIN,
    ),
    Mutant(
        "a websocket need not tell its origin",
        _GUARD,
        '            is_own = origin == f"http://{host}"\n        else:',
        '            is_own = origin in (None, f"http://{host}")\n        else:',
        (f"{_G}test_guarantee_a_websocket_tells_its_origin",),
    ),
    Mutant(
        "faults are printed with the values that they quote",
        _FAULTS,
        "    print(where(type(error), error.__traceback__), file=sys.stderr)",
        "    print(error, where(type(error), error.__traceback__), file=sys.stderr)",
        (f"{_F}test_guarantee_a_fault_is_told_without_its_values",),
    ),
    Mutant(
        "libraries log the values of faults",
        _FAULTS,
        "            record.exc_info = record.exc_text = None\n",
        "",
        (f"{_F}test_guarantee_libraries_log_no_values",),
    ),
)
