"""Words in names of columns that suggest rules, in seven languages.

All are in small letters and without accents, as `words_of` returns those of a name.
"""

import functools
import itertools
import re
import unicodedata
from typing import Any

# What comes first, and what comes then: each of the one with each of the other.
_FIRST_AND_THEN = (
    # English
    "start begin: end finish",
    "started: ended finished",
    "from: to until",
    "opened: closed",
    "admitted: discharged",
    "admission: discharge",
    "departure: return",
    "entry: exit",
    "birth: death",
    "min minimum: max maximum",
    "lower: upper",
    "low: high",
    "first: last",
    "checkin: checkout",
    "created: closed",
    "ordered: delivered",
    "order: delivery",
    # German
    "start beginn begin anfang anfangs: ende end schluss",
    "begonnen gestartet: beendet geendet",
    "von ab seit: bis",
    "eroffnet eroeffnet: geschlossen",
    "eroffnung eroeffnung: schliessung",
    "aufnahme aufgenommen: entlassung entlassen",
    "eintritt eingang: austritt ausgang",
    "einweisung: entlassung",
    "einzug: auszug",
    "anreise: abreise",
    "geburt geboren: tod todes sterbe gestorben verstorben",
    "untere unterer unteres: obere oberer oberes",
    "kleinster kleinste: grosster grosste groesster groesste",
    "erste erster erstes: letzte letzter letztes",
    "erstellt angelegt: geschlossen abgeschlossen",
    "bestellung bestellt bestell: lieferung geliefert liefer",
    # French
    "debut: fin",
    "commence: fini termine",
    "du depuis: au jusque",
    "ouvert ouverture: ferme fermeture",
    "admission entree: sortie",
    "depart: retour",
    "naissance: deces mort",
    "inferieur inferieure: superieur superieure",
    "premier premiere: dernier derniere",
    "cree: ferme cloture",
    "commande: livraison livre",
    # Spanish
    "inicio comienzo: fin final termino",
    "desde: hasta",
    "abierto apertura: cerrado cierre",
    "ingreso admision: alta egreso",
    "entrada: salida",
    "salida: regreso",
    "nacimiento: muerte fallecimiento defuncion",
    "minimo minima: maximo maxima",
    "inferior: superior",
    "primero primera: ultimo ultima",
    "creado: cerrado",
    "pedido: entrega entregado",
    # Italian
    "inizio: fine termine",
    "da dal: a al",
    "aperto apertura: chiuso chiusura",
    "ricovero ammissione accettazione: dimissione dimissioni",
    "ricoverato ammesso: dimesso",
    "entrata ingresso: uscita",
    "partenza: ritorno",
    "nascita: morte decesso",
    "inferiore: superiore",
    "primo prima: ultimo ultima",
    "creato: chiuso",
    "ordine: consegna",
    # Portuguese
    "inicio comeco: fim termino",
    "de desde: ate",
    "aberto abertura: fechado fechamento",
    "admissao internacao internamento: alta",
    "entrada: saida",
    "partida saida: retorno regresso",
    "nascimento: morte obito falecimento",
    "primeiro primeira: ultimo ultima",
    "criado: fechado",
    "encomenda pedido: entrega",
    # Dutch
    "begin start aanvang: einde eind",
    "begonnen gestart: geeindigd beeindigd",
    "van vanaf: tot",
    "geopend: gesloten",
    "opname opgenomen: ontslag ontslagen",
    "ingang intrede: uitgang uittrede",
    "vertrek: terugkomst",
    "geboorte geboren: overlijden overleden dood",
    "onderste: bovenste",
    "laagste: hoogste",
    "eerste: laatste",
    "bestelling besteld bestel: levering geleverd lever",
)
# A guest arrives first, a train departs first: the column that stands first tells.
_EITHER_WAY = (
    "arrival: departure",
    "ankunft: abfahrt abflug",
    "arrivee: depart",
    "llegada: salida",
    "arrivo: partenza",
    "chegada: partida saida",
    "aankomst: vertrek",
)
TOTALS = (
    *("total", "sum", "gesamt", "summe", "somme", "totale", "suma", "somma", "soma", "totaal"),
)
"""Of the sum of other columns."""
PLACES = (
    ("zip", "zipcode", "postcode", "postalcode", "plz", "postleitzahl", "codepostal",
     "codigopostal", "codicepostale"),
    ("city", "town", "municipality", "stadt", "gemeinde", "ville", "commune", "ciudad", "municipio",
     "citta", "comune", "cidade", "stad", "gemeente"),
    ("state", "province", "bundesland", "provinz", "provincia", "provincie"),
    ("country", "land", "pays", "pais", "paese"),
)  # fmt: skip
"""What lies in what: each place in one of the next kind."""
_CODES = {"zip code", "post code", "postal code", "code postal", "codigo postal", "codice postale"}
# Between words that mean something: date_d_entree and date_de_sortie differ by one word.
_SMALL = (
    *("d", "da", "das", "de", "del", "della", "dell", "des", "di", "do", "dos", "du", "der", "het"),
    *("la", "le", "of", "the", "van"),
)
# Of compounds, as Aufnahmedatum and startdate.
_ENDINGS = ("datum", "date", "zeitpunkt", "uhrzeit", "zeit", "time", "tijd", "tag", "dag", "jahr",
            "jaar", "year")  # fmt: skip
_SHORTEST = 3
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def words_of(name: str) -> tuple[str, ...]:
    """Return the words in a name, in small letters and without accents.

    Examples:
        >>> from jaxdp.program.data import words_of_rules
        >>> words_of_rules.words_of("DateD\u00e9but_2")
        ('date', 'debut', '2')
    """
    marks = unicodedata.normalize("NFKD", name.replace("\u00df", "ss"))
    plain = "".join(mark for mark in marks if not unicodedata.combining(mark))
    return tuple(word.casefold() for word in _WORD.findall(plain))


def is_ordered(first: tuple[str, ...], then: tuple[str, ...], *, in_this_order: bool) -> bool:
    """Return whether words of two names say that one value comes first.

    Args:
        first: of the column of that value.
        then: of the other one.
        in_this_order: whether the columns stand so in the table.
    """
    short = _short(first), _short(then)
    return any(_differ_by_a_pair(a, b, in_this_order) for a, b in ((first, then), short))


def without_one(words: tuple[str, ...]) -> set[tuple[Any, ...]]:
    """Return what is left of a name without each word that is a known one.

    Two names of which `is_ordered` holds have one of these in common.
    """
    return {
        (form[:place], before, after, form[place + 1 :])
        for form in (words, _short(words))
        for place, word in enumerate(form)
        for before, _, after in _parts(word)
    }


def _short(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word for word in words if word not in _SMALL)


def joined(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return words of which zip code and postal code are one."""
    is_code = " ".join(words[-2:]) in _CODES
    return (*words[:-2], words[-2] + words[-1]) if is_code else words


def _differ_by_a_pair(first: tuple[str, ...], then: tuple[str, ...], in_this_order: bool) -> bool:
    differ = [pair for pair in zip(first, then, strict=False) if len({*pair}) > 1]
    if len(first) != len(then) or len(differ) != 1:
        return False
    known = _ORDERED_SO if in_this_order else _ORDERED
    for own, other in itertools.product(*map(_parts, differ[0])):
        if own[::2] == other[::2] and (own[1], other[1]) in known:
            return True
    return False


@functools.lru_cache(maxsize=10_000)
def _parts(word: str) -> tuple[tuple[str, str, str], ...]:
    """Return in which ways a word is a known one, between the first and last part of a compound."""
    found = []
    for ending in ("", *_ENDINGS):
        stem = word.removesuffix(ending)
        if len(stem) + len(ending) > len(word):
            continue
        # Between parts of a German or Dutch word there may be an s, as in Entlassungsdatum.
        for inner in {stem, stem.removesuffix("s")} if ending else {stem}:
            for place in range(max(len(inner) - _LONGEST, 0), len(inner)):
                known = inner[place:]
                if known in _KNOWN and (place == 0 or len(known) >= _SHORTEST):
                    found.append((inner[:place], known, ending))
    return tuple(found)


def _pairs(lines: tuple[str, ...]) -> frozenset[tuple[str, str]]:
    sides = [line.split(":") for line in lines]
    return frozenset(
        pair for first, then in sides for pair in itertools.product(first.split(), then.split())
    )


_ORDERED = _pairs(_FIRST_AND_THEN)
_ORDERED_SO = _ORDERED.union(_pairs(_EITHER_WAY), [pair[::-1] for pair in _pairs(_EITHER_WAY)])
_KNOWN = frozenset(itertools.chain(*_ORDERED_SO))
_LONGEST = max(map(len, _KNOWN))
