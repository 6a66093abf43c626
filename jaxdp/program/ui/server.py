"""The server of the page: on 127.0.0.1 alone, without a log of requests."""

from __future__ import annotations

import os
import signal
import socket
import sys
import tempfile
import webbrowser
from pathlib import Path
from typing import Any

from jaxdp import new_files
from jaxdp.program.ui import faults, results
from jaxdp.program.ui.guard import COMPARISON, REPORTS, Guard
from jaxdp.program.ui.jobs import Jobs

_HOST = "127.0.0.1"
_RECONNECT_SECONDS = 30.0


def serve(*, port: int, folder: Path, opens: bool) -> None:
    """Serve the page until Ctrl-C; then end the runs that it has started.

    Args:
        port: to listen to; 0 for a free one.
        folder: where looking for data begins.
        opens: whether to open a browser.

    Raises:
        OSError: the port is taken.
    """
    with tempfile.TemporaryDirectory(prefix="jaxdp-ui-", dir=_place()) as own:
        # The library would make a folder for what it stores, which is nothing.
        os.environ["NICEGUI_STORAGE_PATH"] = own
        import uvicorn

        jobs = Jobs()
        listening = socket.create_server((_HOST, port))
        guard = Guard(application(jobs, folder), listening.getsockname()[1])
        config = uvicorn.Config(guard, access_log=False, log_level="error", lifespan="on")
        faults.keep_values_out_of_logs()
        try:
            _end_as_by_ctrl_c()
            print(f"open {guard.address}\nCtrl-C ends the page and its runs", flush=True)
            if opens:
                webbrowser.open(_file_for(guard.address_for_once(), Path(own)).as_uri())
            uvicorn.Server(config).run(sockets=[listening])
        except KeyboardInterrupt:
            pass
        finally:
            _end(jobs)


def _place() -> Path | None:
    """Return where a browser reads files: one that is a snap has a /tmp of its own."""
    home = Path(os.path.expanduser("~"))
    return home if Path("/snap").is_dir() and os.access(home, os.W_OK) else None


def _file_for(address: str, folder: Path) -> Path:
    """Write a page that goes on to an address, for its owner's eyes alone, and return its file.

    Args:
        address: that nobody else on this machine may see.
        folder: that nobody else can read.
    """
    file = folder / "open.html"
    page = (
        '<!doctype html><title>jaxdp</title><meta name="referrer" content="no-referrer">'
        f'<meta http-equiv="refresh" content="0;url={address}"><a href="{address}">jaxdp</a>'
    )
    new_files.write_part(file, page.encode(), mode=0o600)
    return file


def _end_as_by_ctrl_c() -> None:
    """Let what ends a program otherwise end its runs, too: a terminal that is closed, and `kill`.

    The server takes SIGINT and SIGTERM while it runs, and raises them again when it has ended.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM))


def application(jobs: Jobs, folder: Path) -> Any:
    """Return what is behind the guard: the page, and reports of finished runs."""
    from fastapi import FastAPI, Response
    from nicegui import ui

    from jaxdp.program.ui import page

    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)

    def answer(file: Path | None) -> Response:
        if file is None or not file.is_file():
            return Response("There is no such report.", 404, media_type="text/plain")
        return Response(file.read_bytes(), media_type="text/html")

    @app.get(REPORTS + "{name}")
    def report(name: str) -> Response:
        job = jobs.get(name)
        return answer(None if job is None or job.folder is None else job.folder / "report.html")

    @app.get(REPORTS + "{name}" + COMPARISON)
    def comparison(name: str) -> Response:
        job = jobs.get(name)
        return answer(None if job is None else results.comparison(job.folder))

    @ui.page("/")
    def index() -> None:
        page.build(jobs, folder)

    ui.run_with(
        app,
        title="jaxdp",
        dark=None,
        reconnect_timeout=_RECONNECT_SECONDS,
        binding_refresh_interval=None,
        show_welcome_message=False,
    )
    return app


def _end(jobs: Jobs) -> None:
    """Stop what runs, so that it can be resumed, and say so."""
    running = jobs.running
    try:
        for job in running:
            job.stop()
        if running:
            print("stopping what runs; Ctrl-C again ends it at once", file=sys.stderr)
        for job in running:
            job.wait()
        if any(job.is_run for job in running):
            print(
                "start jaxdp ui again, and name the folder of a run that is to go on",
                file=sys.stderr,
            )
    except KeyboardInterrupt:
        pass
    finally:
        for job in jobs.running:
            job.kill()
