"""From flags to the checked plan of a run and its folder; nothing has been written then."""

import functools
import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

from jaxdp.data import Spec
from jaxdp.features import whitening
from jaxdp.methods import certified, presets
from jaxdp.methods.base import Plan
from jaxdp.methods.steps import Watch, unwatched
from jaxdp.methods.stored import Earlier
from jaxdp.program.runs import released
from jaxdp.program.runs.folder import RunFolder
from jaxdp.program.runs.rows import require_apart
from jaxdp.saved import public_cache


class Ready(NamedTuple):
    """A run whose settings are checked and complete, and whose plan is still to be made.

    Attributes:
        package: of the method.
        settings: complete.
        spec: public facts about the data.
        earlier: what earlier runs have released.
        folder: of the run, to which nothing has been written.
    """

    package: Any
    settings: Any
    spec: Spec
    earlier: Earlier
    folder: RunFolder


class Postponed(NamedTuple):
    """The plan of a run before any of its work.

    Attributes:
        plan: which knows shapes and bounds, and all that can be refused.
        begun: returns the plan to run, with its public maps.
    """

    plan: Plan[Any]
    begun: Callable[[], Plan[Any]]


def prepared(method: Any, settings: Any, run_flags: Any, spec: Spec) -> tuple[Plan[Any], RunFolder]:
    """Return the checked plan of a run, and its folder, to which nothing has been written.

    Raises:
        SettingsError: whatever is wrong.
    """
    ready = checked(method, settings, run_flags, spec)
    return postponed(ready).begun(), ready.folder


def package_of(method: Any) -> Any:
    """Return a method: the package of that name in `jaxdp.methods`, or what is given."""
    return importlib.import_module(f"jaxdp.methods.{method}") if isinstance(method, str) else method


def checked(method: Any, settings: Any, run_flags: Any, spec: Spec) -> Ready:
    """Return what a plan is made of.

    Raises:
        SettingsError: whatever is wrong.
    """
    package = package_of(method)
    settings = with_preset(settings, run_flags, spec)
    earlier = earlier_of(package, settings, run_flags, spec)
    complete = package.complete(settings, spec, earlier)
    # A folder that is taken is found before features are built, which may whiten public images.
    name = package.folder_name(complete, spec, earlier)
    folder = RunFolder(
        run_flags.out_dir or f"runs/{name}", resume=run_flags.resume, overwrite=run_flags.overwrite
    )
    require_apart(getattr(run_flags, "feature_cache", None), folder.path)
    return Ready(package, complete, spec, earlier, folder)


def with_preset(settings: Any, run_flags: Any, spec: Spec) -> Any:
    """Return settings whose defaults are those tuned for a dataset that is known by its name."""
    named = spec.name if run_flags.csv is None else ""
    return presets.for_dataset(settings, named, spec.kind.stored)


def postponed(ready: Ready, *, watch: Watch = unwatched) -> Postponed:
    """Return the plan of a run whose public maps are not computed yet.

    Args:
        ready: what it is made of.
        watch: shows how far a public map is.

    Raises:
        SettingsError: whatever is wrong.
    """
    cached = whitening.Postponed(functools.partial(public_cache.cached, watch=watch))

    def planned() -> Plan[Any]:
        plan: Plan[Any] = ready.package.make_plan(
            ready.settings, ready.spec, ready.earlier, cached=cached
        )
        return plan

    first = planned()

    def begun() -> Plan[Any]:
        cached.may_begin = True
        plan = planned() if cached.is_needed else first
        certified.require_same_ledger(plan, first)
        return plan

    return Postponed(first, begun)


def earlier_of(package: Any, settings: Any, run_flags: Any, spec: Spec) -> Earlier:
    """Return what earlier runs have released that the flags name."""
    of_settings = getattr(package, "form_of", None)
    form = getattr(package, "FORM", None) if of_settings is None else of_settings(settings)
    stored = None
    if form is not None and getattr(run_flags, form.flag) is not None:
        stored = released.read(getattr(run_flags, form.flag), form)
    folder = getattr(run_flags, "synthetic", None)
    if folder is None:
        return Earlier(stored)
    from jaxdp.program.runs import generated_images  # imports flax

    return generated_images.beside(stored, folder, spec, settings)
