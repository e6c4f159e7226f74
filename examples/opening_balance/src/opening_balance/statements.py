"""An OFX investment statement, read into the positions of an opening balance.

Bytes or a text enter; a `StatementFile` leaves, with a note on whatever could not be carried over exactly. Nothing is
rounded, guessed or dropped without a note, and nothing that can be sent raises.

ofxtools reads the header and the markup of both versions, SGML and XML. It has no DTD and expands no entity, so a file can
name nothing outside itself. What it lacks is bounds, and they are set here: on size, nesting, elements and positions, and on
the two places where its patterns take time that grows with the square of the input (a long header, an unclosed CDATA section).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Any, Final, Literal
from xml.etree.ElementTree import Element

from ofxtools.header import OFXHeaderV1, OFXHeaderV2
from ofxtools.Parser import TreeBuilder

from opening_balance.records import MAX_POSITIONS, MAX_STATEMENT, Instrument, Lot, Note, Position, Statement, StatementFile

__all__ = ["read_statements"]

MAX_HEADER: Final = 2_000
MAX_DEPTH: Final = 32
MAX_ELEMENTS: Final = 200_000
MAX_STATEMENTS: Final = 50

PLACES: Final = 8
"""How many decimal places the book keeps of a quantity."""


class _NotOFXError(Exception):
    """The file as a whole does not read; the message is a sentence for whoever sent it."""


class _LeftOutError(Exception):
    """One position does not read; the message is a sentence for whoever sent it."""


def read_statements(source: bytes | str) -> StatementFile:
    """Every investment statement in an OFX file, or none and a note that says why.

    >>> read_statements("Hello").notes[0].message
    'No <OFX> was found, so this is not an OFX statement. Ask the broker for the OFX (or QFX) download.'
    """
    try:
        root = _tree(source)
    except _NotOFXError as why:
        return StatementFile([], [Note("The file", str(why))])
    return _statements(root)


# The file ------------------------------------------------------------------------------------------------------------------


def _tree(source: bytes | str) -> Element:
    """The elements of an OFX file. Raises _NotOFXError."""
    if isinstance(source, str):
        # As ASCII with references, so that the charset its header was written for does not matter to a text.
        source = source.encode("ascii", "xmlcharrefreplace") if len(source) <= MAX_STATEMENT else b" " * (MAX_STATEMENT + 1)
    if len(source) > MAX_STATEMENT:
        raise _NotOFXError(f"It is larger than {MAX_STATEMENT:,} bytes, the most that is read. Ask for a shorter period.")
    start = source.find(b"<OFX>")
    if start < 0:
        raise _NotOFXError("No <OFX> was found, so this is not an OFX statement. Ask the broker for the OFX (or QFX) download.")
    header = source[:start].removeprefix(b"\xef\xbb\xbf").removeprefix(b"&#65279;").decode("ascii", "replace")
    codec = _codec(header)
    try:
        body = source[start:].decode(codec)
    except UnicodeDecodeError as why:
        raise _NotOFXError(f"Its header says that it is written in {codec}, and byte {start + why.start:,} is not.") from why
    builder = _Builder()
    try:
        builder.feed(_plain_markup(body))
        return builder.close()
    except SyntaxError as why:  # what ofxtools and ElementTree raise; their messages quote the whole file
        raise _NotOFXError(f"Its markup does not nest as OFX does, near {builder.last}.") from why


def _codec(header: str) -> str:
    """The encoding that an OFX header declares. Raises _NotOFXError."""
    if len(header) > MAX_HEADER:
        raise _NotOFXError(f"What stands before <OFX> is longer than any OFX header ({MAX_HEADER:,} characters).")
    try:
        if "<?OFX" in header:
            OFXHeaderV2.parse(header)
            rest = re.sub(r"<\?[^<>]*\?>", "", header)
            codec: str = OFXHeaderV2.codec
        else:
            parsed, end = OFXHeaderV1.parse(header)
            rest = header[: header.find("OFXHEADER")] + header[end:]
            codec = parsed.codec
    except (SyntaxError, ValueError) as why:
        raise _NotOFXError("What stands before <OFX> is no OFX header of version 1 or 2, so its encoding is unknown.") from why
    if rest.strip():
        raise _NotOFXError(f"Its header holds what no OFX header does: {_quoted(rest)}.")
    return codec


def _plain_markup(body: str) -> str:
    """The body with nothing in it but tags and text: no CDATA, no comments, no empty-element tags. Raises _NotOFXError."""
    body = "".join(_escaped(body))
    body = re.sub(r"<([A-Z0-9._]+)\s?/>", r"<\1></\1>", body)
    foreign = TreeBuilder.regex.sub("", body).strip()
    if foreign:
        raise _NotOFXError(f"It holds markup that OFX does not have: {_quoted(foreign)}.")
    return body


def _escaped(body: str) -> Iterator[str]:
    """The pieces of the body, a CDATA section as the text it stands for and a comment as nothing. Raises _NotOFXError."""
    at = 0
    for opening in re.finditer(r"<!\[CDATA\[|<!--", body):
        if opening.start() < at:
            continue  # inside the one before
        closing = "]]>" if opening[0] == "<![CDATA[" else "-->"
        end = body.find(closing, opening.end())
        if end < 0:
            raise _NotOFXError(f"{opening[0]} is opened and never closed.")
        yield body[at : opening.start()]
        if closing == "]]>":
            yield body[opening.end() : end].replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        at = end + len(closing)
    yield body[at:]


class _Builder(TreeBuilder):
    """ofxtools' parser, keeping count of what is open, which it does not."""

    def __init__(self) -> None:
        super().__init__()
        self.last = "its beginning"
        self._open: list[str] = []
        self._elements = 0

    def start(self, tag: Any, attrs: Any, /) -> Element:
        self.last = f"<{tag[:40]}>"
        self._open.append(tag)
        self._elements += 1
        if len(self._open) > MAX_DEPTH:
            raise _NotOFXError(f"It nests deeper than {MAX_DEPTH} elements, which no statement does.")
        if self._elements > MAX_ELEMENTS:
            raise _NotOFXError(f"It has more than {MAX_ELEMENTS:,} elements. Ask for a shorter period.")
        return super().start(tag, attrs)

    def end(self, tag: str, /) -> Element:
        self.last = f"</{tag[:40]}>"
        if not self._open:
            raise _NotOFXError(f"</{tag[:40]}> closes nothing that is open.")
        opened = self._open.pop()
        if opened != tag:
            raise _NotOFXError(f"<{opened[:40]}> is closed by </{tag[:40]}>; its value or its own end is missing.")
        return super().end(tag)

    def close(self) -> Element:
        if self._open:
            raise _NotOFXError(f"<{self._open[-1][:40]}> is opened and never closed, so the file may be cut short.")
        return super().close()


# The statements ------------------------------------------------------------------------------------------------------------


def _statements(root: Element) -> StatementFile:
    """What the file says, statement by statement."""
    statements: list[Statement] = []
    notes: list[Note] = []
    securities = _Securities(root)
    answers = root.findall("./INVSTMTMSGSRSV1/INVSTMTTRNRS")
    for number, answer in enumerate(answers[:MAX_STATEMENTS], 1):
        where = f"Statement {number}" if len(answers) > 1 else "The statement"
        try:
            statements.append(_statement(number, answer, securities))
        except _LeftOutError as why:
            notes.append(Note(where, str(why)))
    if len(answers) > MAX_STATEMENTS:
        notes.append(Note("The file", f"It holds {len(answers):,} statements; the first {MAX_STATEMENTS} were read."))
    if not answers:
        notes.append(Note("The file", "It holds no investment statement; a bank or card statement has no positions to record."))
    return StatementFile(statements, notes)


def _statement(number: int, answer: Element, securities: _Securities) -> Statement:
    """One account's statement. Raises _LeftOutError where it has none, or no day."""
    found = answer.find("./INVSTMTRS")
    if found is None:
        said = _text(answer, "./STATUS/MESSAGE") or _text(answer, "./STATUS/CODE")
        raise _LeftOutError(f"The broker sent no statement here, saying {_quoted(said)}." if said else "It is empty.")
    positions, notes = _positions(found, securities)
    return Statement(
        number=number,
        account_number=_text(found, "./INVACCTFROM/ACCTID")[:64],
        broker=_text(found, "./INVACCTFROM/BROKERID")[:64],
        as_of=_day(_text(found, "./DTASOF")),
        currency=_text(found, "./CURDEF")[:3],
        positions=positions,
        notes=notes,
    )


def _day(text: str) -> date:
    """The day as the statement writes it: its own, whatever day it was then in Greenwich. Raises _LeftOutError."""
    if re.fullmatch(r"[0-9]{8}([0-9]{2,6}(\.[0-9]*)?(\[.*\])?)?", text):
        try:
            return date.fromisoformat(f"{text[:4]}-{text[4:6]}-{text[6:8]}")
        except ValueError:
            pass
    said = f"is {_quoted(text)}, which is no day written YYYYMMDD" if text else "is missing"
    raise _LeftOutError(f"The day it is of, <DTASOF>, {said}.")


class _Securities:
    """What the file's security list calls each instrument."""

    def __init__(self, root: Element) -> None:
        self._names: dict[tuple[str, str], list[str]] = {}
        for info in root.iterfind("./SECLISTMSGSRSV1/SECLIST/*/SECINFO"):
            name = _text(info, "./SECNAME")
            names = self._names.setdefault(_security(info), [])
            if name and name not in names and len(names) < 2:
                names.append(name)

    def names(self, security: tuple[str, str]) -> list[str]:
        """The names it has there: one as a rule, sometimes none, sometimes two that differ."""
        return self._names.get(security, [])


def _security(element: Element) -> tuple[str, str]:
    """The scheme and identifier under an element's <SECID>, as written."""
    return _text(element, "./SECID/UNIQUEIDTYPE"), _text(element, "./SECID/UNIQUEID")


def _positions(statement: Element, securities: _Securities) -> tuple[list[Position], list[Note]]:
    """What the statement holds, one position for each instrument, and what to know of it. Raises _LeftOutError for too many."""
    held = statement.findall("./INVPOSLIST/*/INVPOS")
    if len(held) > MAX_POSITIONS:
        raise _LeftOutError(f"It has {len(held):,} positions; at most {MAX_POSITIONS:,} are read into one opening balance.")
    read: dict[tuple[str, str], Position] = {}
    notes: list[Note] = []
    for number, element in enumerate(held, 1):
        security = _security(element)
        about = f"Position {number}, {' '.join(security).strip()[:80] or 'without an identifier'}"
        try:
            lot = _lot(element, about, notes)
            if security in read:
                notes.append(Note(about, "The statement lists this instrument more than once; this is a further lot of it."))
                read[security] = Position(read[security].instrument, [*read[security].lots, lot])
            else:
                read[security] = Position(_instrument(security, securities, about, notes), [lot])
        except _LeftOutError as why:
            notes.append(Note(about, str(why), left_out=True))
            continue
        average = _text(element, "./AVGCOSTBASIS")
        if average:
            notes.append(Note(about, f"It says an average cost of {_quoted(average)}, which may be of a unit or of the whole."))
    if not held:
        notes.append(Note("The statement", "It lists no positions."))
    if read:
        notes.append(Note("Costs", "A statement gives market values, not what was paid; fill in the costs that you know."))
    return list(read.values()), notes


def _instrument(security: tuple[str, str], securities: _Securities, about: str, notes: list[Note]) -> Instrument:
    """The instrument, named as the security list names it. Raises _LeftOutError where nothing identifies it."""
    kind, identifier = security
    if not identifier:
        raise _LeftOutError("Nothing identifies it, so it is left out.")
    if len(identifier) > 64:
        raise _LeftOutError("Its identifier is longer than 64 characters, so it is left out.")
    names = securities.names(security)
    name = names[0] if names else ""
    if not names:
        notes.append(Note(about, "The statement's list of securities does not name it; give it a name."))
    if len(names) > 1:
        notes.append(Note(about, f"The statement names it {_quoted(name)} and {_quoted(names[1])}; the first is used."))
    if len(name) > 200:
        notes.append(Note(about, "Its name is cut at 200 characters."))
        name = name[:200].rstrip()
    return Instrument(identifier, _scheme(kind), name)


def _scheme(kind: str) -> Literal["CUSIP", "ISIN", "TICKER", "OTHER"]:
    match kind.upper():
        case "CUSIP" | "ISIN" | "TICKER" as scheme:
            return scheme
        case _:
            return "OTHER"


def _lot(element: Element, about: str, notes: list[Note]) -> Lot:
    """The position's units as one lot; negative where the position is short. Raises _LeftOutError where they do not read."""
    units = _number(_text(element, "./UNITS"), about, notes)
    short = _text(element, "./POSTYPE").upper() == "SHORT"
    if not units:
        raise _LeftOutError("The statement holds none of it any more, so it is left out.")
    if short or units < 0:
        # OFX writes a short position's units negative; some brokers leave the sign to POSTYPE.
        units = units.copy_abs().copy_negate()  # exact, where `-abs(units)` rounds to 28 digits
        notes.append(Note(about, f"It is a short position: {units} is owed, not held. Check that this is meant."))
    return Lot(units)


def _number(text: str, about: str, notes: list[Note]) -> Decimal:
    """The exact number. Raises _LeftOutError for what is none, or has more places than the book keeps."""
    if not text:
        raise _LeftOutError("It does not say how many units, so it is left out.")
    if len(text) > 90 or not re.fullmatch(r"[+-]?([0-9]+[.,]?[0-9]*|[.,][0-9]+)", text):
        raise _LeftOutError(f"Its units are {_quoted(text)}, which is no number, so it is left out.")
    if "," in text:
        notes.append(Note(about, f"The comma in its units, {_quoted(text)}, is read as the decimal mark, as OFX has it."))
    number = Decimal(text.replace(",", "."))
    if len(f"{number:f}".partition(".")[2].rstrip("0")) > PLACES:
        raise _LeftOutError(f"Its units, {_quoted(text)}, have more than {PLACES} decimal places, so it is left out.")
    return number


# Texts ---------------------------------------------------------------------------------------------------------------------

_REFERENCE = re.compile(r"&(?:(amp|lt|gt|quot|apos|nbsp)|#([0-9]{1,7})|#x([0-9A-Fa-f]{1,6}));")
_NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'", "nbsp": " "}


def _text(element: Element, path: str) -> str:
    """The text at `path`: references resolved, runs of space as one, what no text may hold as the mark for it."""
    text = _REFERENCE.sub(_referred, element.findtext(path) or "")
    text = "".join("�" if unicodedata.category(c) in {"Cc", "Cs"} and not c.isspace() else c for c in text)
    return " ".join(text.split())


def _referred(reference: re.Match[str]) -> str:
    named, decimal, hexadecimal = reference.groups()
    if named:
        return _NAMED[named]
    number = int(decimal) if decimal else int(hexadecimal, 16)
    return chr(number) if number < 0x110000 else "�"


def _quoted(text: str) -> str:
    """`text` as a note quotes it: its beginning, on one line."""
    text = " ".join("".join(c if c.isprintable() else " " for c in text[:80]).split())
    return f'"{text[:40]}…"' if len(text) > 40 else f'"{text}"'
