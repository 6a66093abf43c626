"""Begin an entry for the registry of deployments of differential privacy, from a finished run.

    jaxdp registry --run=runs/scans_teacher_ipc5_eps2 --out=entry.yaml

The OpenDP project keeps that registry (registry.opendp.org). An entry says in public what was
released, under which guarantee and how. What a certificate knows is filled in; what a person knows
is left as FILL IN. Epsilon is that of all runs in the ledger of the dataset, if one is named.
"""

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jaxdp.methods.settings import check_fields, setting
from jaxdp.program import command_line
from jaxdp.program.errors import InputError

if TYPE_CHECKING:
    from jaxdp.privacy.ledger import Ledger
    from jaxdp.privacy.ledger_file import Entry
    from jaxdp.saved.loading import Loaded

FILL_IN = "FILL IN"


@dataclasses.dataclass(frozen=True, kw_only=True)
class RegistryFlags:
    """The flags of this program."""

    run: str | None = setting(None, "Folder of a finished run, or of made.save.")
    ledger: str | None = setting(
        None, "The ledger of its dataset, whose runs are summed up (default: the run's own sum)."
    )
    out: str | None = setting(None, "The file to write, .yaml.")

    def __post_init__(self) -> None:
        check_fields(self)


USAGE, TAKES = "RUN --out=FILE.yaml", "run"
KINDS = command_line.define(RegistryFlags)


def entry(loaded: "Loaded", runs: "Sequence[Entry]" = ()) -> dict[str, Any]:
    """Return the entry of a run, with the headings of the registry's template.

    Args:
        loaded: the run; its certificate is computed anew.
        runs: all runs in the ledger of its dataset, this one among them; the certificate's own
            sum is taken without.

    Raises:
        InputError: it must not be released, or the ledger is not that of its dataset.

    Guarantee:
        Epsilon and mu are those of all runs that the ledger and the certificate count, and the
        unit is one that all of them protect.
    """
    facts, flag = loaded.certificate.facts, loaded.folder.flag
    if not loaded.certificate.releasable:
        raise InputError(f"{flag}: {facts['verdict']}")
    loss = _loss(loaded, runs)
    return {
        "url_slug": FILL_IN,
        "deployment": {
            "basic": _basic(loaded, runs),
            "dp_variant": {
                "variant_name": "Approximate DP",
                "data_domain": _domain(loaded),
                "unprotected_quantities": _listed(facts["public"]),
            },
            "privacy_loss": {
                **_unit(facts, runs, loss["relation"]),
                "privacy_parameters": {"epsilon": loss["epsilon"], "delta": loss["delta"]},
                "privacy_parameters_details": _details(facts, loss),
            },
            "deployment_model": {
                "model_name": "Central",
                "trust_assumptions": "Who runs jaxdp sees the data; whoever gets what was "
                "released sees nothing else.",
                "actors": FILL_IN,
                "release_type": "One release" if loss["runs"] == 1 else "Many releases",
                "release_type_details": f"Runs on the data that are summed up: {loss['runs']}.",
                "data_source_type": "Static",
                "access_type": "Non-interactive",
            },
            "implementation": _implementation(facts),
            "administrative": {
                "evidence_sources": {},
                "status": "Draft",
                "registry_authors": [FILL_IN],
                "tier": 3,
            },
        },
    }


def _parts(loaded: "Loaded") -> "list[Ledger]":
    """Return the entries of a run in a ledger: its own, and that of what was bought of a schema."""
    from jaxdp.methods import bought_schema
    from jaxdp.privacy.ledger import Ledger

    whole = Ledger.from_json(loaded.certificate.facts["ledger"])
    bought = bought_schema.ledger_of(loaded.spec)
    try:
        own = bought_schema.own_part(whole, loaded.spec)
    except ValueError as error:
        raise InputError(f"{loaded.folder.flag}: {error}") from error
    return [own] if bought is None else [own, bought]


def _loss(loaded: "Loaded", runs: "Sequence[Entry]") -> dict[str, Any]:
    """Return what all runs together lose: those of a ledger, or those that the certificate sums."""
    from jaxdp.privacy.certificates import whole_loss, why_void
    from jaxdp.privacy.ledger import Ledger, joint_epsilon, joint_relation
    from jaxdp.privacy.relations import IN_WORDS
    from jaxdp.privacy.wording import beside_mu

    facts, flag = loaded.certificate.facts, loaded.folder.flag
    own = Ledger.from_json(facts["ledger"])
    earlier = [*map(Ledger.from_json, facts.get("earlier_runs", ()))]
    ledgers = [each.ledger for each in runs] or [*earlier, own]
    for each in ledgers:
        void = why_void(each)
        if void is not None:
            raise InputError(f"{flag}: no epsilon holds of all runs together: {void}")
    counted = [*earlier, *_parts(loaded)] if runs else []
    for each in counted:
        if ledgers.count(each) < counted.count(each):
            raise InputError(
                f"--ledger: does not hold all runs that the certificate of {flag} counts; name the "
                "ledger of its dataset, or put back what is missing there"
            )
    return {
        "runs": len(ledgers),
        "epsilon": joint_epsilon(ledgers, delta=own.delta) if len(ledgers) > 1 else own.epsilon(),
        "delta": own.delta,
        "relation": IN_WORDS[joint_relation(ledgers)],
        "beside_mu": beside_mu(each.threshold_delta for each in ledgers),
        **whole_loss(tuple(ledgers)),
    }


def _basic(loaded: "Loaded", runs: "Sequence[Entry]") -> dict[str, Any]:
    from jaxdp.methods import card

    facts, made = loaded.certificate.facts, loaded.made
    own, spec = _own(loaded, runs), loaded.spec
    number = "No" if made is None else len(made.x)
    kind = "distilled" if made is not None and made.file.startswith("distilled") else "generated"
    return {
        "name": card.title(spec, kind),
        "data_curators": [{"data_curator_name": FILL_IN, "data_curator_type": FILL_IN}],
        "description": f"{number} {card.describe(spec)}, "
        f"made from {facts['num_examples']} private ones.",
        "intended_use": FILL_IN,
        "data_product_type": "Synthetic data",
        "data_product_region": FILL_IN,
        "data_product_sector": FILL_IN,
        "publication_date": FILL_IN if own is None else own.at[:10],
    }


def _domain(loaded: "Loaded") -> str:

    from jaxdp.methods import card

    count = loaded.certificate.facts["num_examples"]
    spec = loaded.spec
    return f"{count} {card.describe(spec)}, each with one of {spec.num_classes} classes"


def _own(loaded: "Loaded", runs: "Sequence[Entry]") -> "Entry | None":
    """Return the entry of a run in a ledger; None where no ledger is named.

    Raises:
        InputError: it is not there, or has other numbers.
    """
    if not runs:
        return None
    name = loaded.folder.config.get("ledger_entry")
    found = next((each for each in runs if each.name == name), None)
    if found is None or found.ledger != _parts(loaded)[0]:
        raise InputError(
            f"--ledger: the run of {loaded.folder.flag} is not in it; name the ledger of its "
            "dataset, or leave the flag out"
        )
    return found


def _unit(facts: Any, runs: "Sequence[Entry]", relation: str) -> dict[str, str]:
    """Return whom all runs together protect: persons, if each of them does."""
    from jaxdp.privacy.wording import UNIT

    most = facts["ledger"].get("records_per_person", 1)
    persons = most > 1 or (facts["persons_declared"] and all(each.is_of_persons for each in runs))
    name = f"Person, with at most {most} record{'s' if most > 1 else ''}" if persons else "Record"
    unit = facts["unit"] if persons else UNIT
    return {"privacy_unit": name, "privacy_unit_details": f"{unit}. Neighbours: {relation}."}


def _details(facts: Any, loss: dict[str, Any]) -> str:
    from jaxdp.privacy.wording import beside_mu
    from jaxdp.program.report.values import round_up

    own = beside_mu([facts["ledger"].get("threshold_delta", 0.0)])
    profile = ", ".join(
        f"{round_up(point['epsilon'])} at {point['delta']:g}" for point in loss["privacy_profile"]
    )
    return _listed(
        (
            f"All runs together: mu = {round_up(loss['gaussian_dp_mu'])} of Gaussian "
            f"differential privacy{loss['beside_mu']}; epsilon {profile}.",
            f"This run by itself: epsilon {round_up(facts['epsilon'])} at delta "
            f"{facts['delta']:g}, mu = {round_up(facts['gaussian_dp_mu'])}{own}.",
            loss["attacker"]["in_words"],
        )
    )


def _implementation(facts: Any) -> dict[str, Any]:
    prepared = facts["preparation"] or "Each record is read by itself."
    return {
        "preprocessing_and_hyperparameter_tuning": f"{prepared} {FILL_IN}: how settings were "
        "chosen, and whether every run that was made for it is in the ledger.",
        "mechanisms": f"{facts['mechanism']}, by jaxdp. {facts['randomness']}.",
        "composition": f"{facts['accountant']}.",
        "post_processing": "Whatever is made of what the mechanisms released: it sees no data.",
        "justification": FILL_IN,
        "utility": FILL_IN,
    }


def _listed(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def as_yaml(found: dict[str, Any]) -> str:
    """Return an entry as the text of its file, lists in lines of their own."""
    import yaml

    class Dumper(yaml.SafeDumper):
        pass

    def text(dumper: yaml.SafeDumper, value: str) -> Any:
        style = "|" if "\n" in value else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    Dumper.add_representer(str, text)
    return yaml.dump(found, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=100)


def main(argv: Sequence[str]) -> None:
    """Write the entry; bad input ends it with one line and exit code 2."""
    del argv
    with command_line.one_line_errors():
        asked = command_line.settings_of(RegistryFlags)
        if asked.run is None:
            raise InputError("--run: name the folder of a finished run")
        if asked.out is None:
            raise InputError("--out: name the file to write")
        from jaxdp.program import out_file  # these take a second: not before flags are parsed
        from jaxdp.program.data.outside_files import user_path
        from jaxdp.program.runs import dataset_ledgers
        from jaxdp.saved import loading

        runs = () if asked.ledger is None else dataset_ledgers.named(asked.ledger).entries
        loaded = loading.opened(user_path(asked.run, "run").absolute(), f"--run={asked.run}")
        text = as_yaml(entry(loaded, runs))
        path = out_file.write(asked.out, text.encode("utf-8", "backslashreplace"), suffix=".yaml")
        print(f"{path}: fill in {text.count(FILL_IN)} places, and send it to registry.opendp.org")
