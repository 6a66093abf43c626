"""The licence that goes with what is passed on: a text of its giver, or a file of theirs."""

from jaxdp.program.data.outside_files import user_path
from jaxdp.program.errors import InputError
from jaxdp.saved.files import open_plain

_MOST_BYTES = 2**20
_ENDINGS = (".txt", ".md", ".rst")


def content_of(given: str) -> bytes:
    """Return the content of the file LICENSE.

    Args:
        given: of --license: the name of a file, or the text itself, as `CC-BY-4.0`.

    Raises:
        InputError: it is empty, names a file that is not there, or one that is no text.
    """
    flag = f"--license={given[:80]}"
    if not given.strip():
        raise InputError(f"{flag}: give a text, or the name of a file that has it")
    path = user_path(given, "license") if "\n" not in given and len(given) < 255 else None
    if path is None or not path.exists():
        if given.endswith(_ENDINGS) and not given.strip().count(" "):
            raise InputError(f"{flag}: there is no such file")
        return f"{given.strip()}\n".encode("utf-8", "backslashreplace")
    try:
        with open_plain(path) as file:
            content = file.read(_MOST_BYTES + 1)
        content.decode()
    except (OSError, ValueError) as error:
        raise InputError(f"{flag}: is no text that can be read ({error})") from error
    if len(content) > _MOST_BYTES or not content.strip():
        raise InputError(f"{flag}: is empty, or larger than {_MOST_BYTES >> 20} MB")
    return content
