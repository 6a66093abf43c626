"""Bugs of the local page: who may talk to it, and what it prints."""

from planted_bugs.mutant import Mutant

_GUARD, _G = "jaxdp/program/ui/guard.py", "tests/ui/test_guard.py::"
_FAULTS, _F = "jaxdp/program/ui/faults.py", "tests/ui/test_what_goes_wrong.py::"
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
