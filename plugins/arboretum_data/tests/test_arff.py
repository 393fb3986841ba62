"""ARFF as Weka's description has it, tried on files that a writer of these tests makes."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest
from hypothesis import given, strategies as st

from arboretum.api import DataError
from arboretum.testing.effort import examples
from arboretum_data.file import FileDataset

TEXT = st.text(
    st.characters(codec="utf-8", exclude_characters="\x00"), max_size=6
) | st.sampled_from(
    [
        "?",
        "NA",
        "",
        " ",
        "a b",
        "50%",
        "%",
        "it's",
        '"',
        "\\",
        "{",
        "}",
        "a,b",
        "\t",
        "\n",
        "1",
        "true",
        " x ",
    ]
)
ESCAPES = {
    "\\": "\\\\",
    "'": "\\'",
    '"': '\\"',
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "%": "\\%",
    "\x1e": "\\u001E",
}


def quoted(text: str) -> str:
    """As Weka's ``Utils.quote`` writes a value, but that other white space has quotes, too."""
    special = any(
        sign in ESCAPES or sign in ",{}" or sign.isspace() or sign < " " or sign == "\x7f"
        for sign in text
    )
    escaped = "".join(ESCAPES.get(sign, sign) for sign in text)
    return f"'{escaped}'" if special or text in ("?", "") else text


def written(names, declared, rows, weights, draw) -> str:
    """An ARFF file; ``draw`` chooses among the spellings that mean the same."""
    lines = [f"@RELATION {quoted('of these tests')} % a comment, 'open"]
    for name, values in zip(names, declared, strict=True):
        kind = (
            "{" + draw([",", ", ", " , "]).join(map(quoted, values)) + "}"
            if isinstance(values, tuple)
            else values
        )
        lines.append(
            f"@{draw(['attribute', 'ATTRIBUTE'])}{draw([' ', chr(9)])}{quoted(name)} "
            f"{kind}{draw(['', ' % {one, two'])}"
        )
    lines.append(draw(["@data", "@DATA % from here"]))
    for row, weight in zip(rows, weights, strict=True):
        cells = [
            "?" if value is None else repr(value) if isinstance(value, float) else quoted(value)
            for value in row
        ]
        zeros = [
            values[0] if isinstance(values, tuple) else 0.0 if values == "numeric" else None
            for values in declared
        ]
        if draw([False, True]):
            said = [f"{j} {cell}" for j, cell in enumerate(cells) if row[j] != zeros[j]]
            text = "{" + draw([",", ", "]).join(said) + "}"
        else:
            text = draw([",", ", ", "\t", " "]).join(cells)
        lines += [
            text + (f",{{{weight!r}}}" if weight != 1 else ""),
            *draw([[], [""], ["% said between"]]),
        ]
        lines[-1] += draw(["", " % at the end", "%'"])
    return "\n".join(lines) + "\n"


@given(data=st.data())
@examples(150)
def test_what_a_writer_writes_is_read_back(tmp_path_factory, data):
    declared = data.draw(
        st.lists(
            st.just("numeric")
            | st.just("string")
            | st.lists(TEXT, min_size=1, max_size=4, unique=True).map(tuple),
            min_size=1,
            max_size=3,
        )
    )
    value = {"numeric": st.floats(allow_nan=False, allow_infinity=False), "string": TEXT}
    cell = [
        st.none() | (st.sampled_from(kind) if isinstance(kind, tuple) else value[kind])
        for kind in declared
    ]
    rows = data.draw(
        st.lists(st.tuples(*cell, st.sampled_from(["no", "?"])), min_size=2, max_size=6)
    )
    weights = data.draw(
        st.lists(st.sampled_from([1.0, 0.5, 3.25]), min_size=len(rows), max_size=len(rows))
    )
    names = [*(f"column {j} '%'" for j in range(len(declared))), "y"]
    path = tmp_path_factory.mktemp("arff") / "t.arff"
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(
            written(
                names,
                [*declared, ("no", "?")],
                rows,
                weights,
                lambda choices: data.draw(st.sampled_from(choices)),
            )
        )
    reader = FileDataset(path=str(path), target="y")
    found = {cells.name: cells for cells in reader.cells(path)}
    for j, (name, kind) in enumerate(zip(names, [*declared, ("no", "?")], strict=True)):
        cells, own = found[name], [row[j] for row in rows]
        if kind == "numeric":
            assert [None if np.isnan(v) else v for v in cells.as_numbers()] == own
        else:
            assert [None if code < 0 else cells.values[code] for code in cells.codes] == own
            assert cells.declared == (kind if isinstance(kind, tuple) else ())
    if len({row[-1] for row in rows}) == 2:
        table = reader.load(0)
        assert table.row_weights().tolist() == weights


HEAD = "@relation r\n@attribute a {}\n@attribute y {{u,v}}\n@data\n"


def load(folder, text, **fields):
    (folder / "t.arff").write_text(text, encoding="utf-8")
    return FileDataset(path=str(folder / "t.arff"), **{"target": "y", **fields}).load(0)


def shown(column):
    return (
        [column.categories[k] if k >= 0 else None for k in column.values]
        if column.categories
        else column.values.tolist()
    )


@pytest.mark.parametrize(
    ("declared", "rows", "values"),
    [
        ("numeric % how much, 'say", "1,u%first\n2 , v %{0.5}\n", [1.0, 2.0]),
        ("{'50%',z} % 'of", "'50%',u % x\nz,v%\n", ["50%", "z"]),
        ("{'?',z}", "'?',u\n?,v\nz,v\n", ["?", None, "z"]),
        ("string", "' x ',u\nNA,v\n\"\",v\n", [" x ", "NA", ""]),
        ("string", "'a\\tb\\'\\\\\\101',u\n'\\u00e4',v\n", ["a\tb'\\A", "ä"]),
        ("numeric", "1\tu\n2 v\n3,\tv,\n", [1.0, 2.0, 3.0]),
        ("{p,'q r'}", "{}\n{0 'q r' , 1 v} % x\n{ 0 ?,1 v}\n", ["p", "q r", None]),
        ("integer [0,9]", "1,u\n2,v\n", [1.0, 2.0]),
    ],
)
def test_what_the_description_allows_is_read(tmp_path, declared, rows, values):
    assert shown(load(tmp_path, HEAD.format(declared) + rows).columns[0]) == values


@pytest.mark.parametrize(
    ("format_", "rows", "moments"),
    [
        (
            "",
            "'2020-03-01T12:00:00',u\n2020-03-02,v\n",
            [dt.datetime(2020, 3, 1, 12), dt.datetime(2020, 3, 2)],
        ),
        (
            '"dd.MM.yyyy HH:mm"',
            "'01.03.2020 12:30',u\n'2.3.2020 00:00',v\n",
            [dt.datetime(2020, 3, 1, 12, 30), dt.datetime(2020, 3, 2)],
        ),
        (
            "'yyyyMMdd'",
            "20200301,u\n20200302,v\n",
            [dt.datetime(2020, 3, 1), dt.datetime(2020, 3, 2)],
        ),
        (
            "yyyy/M/d",
            "2020/3/1,u\n2020/3/2,v\n",
            [dt.datetime(2020, 3, 1), dt.datetime(2020, 3, 2)],
        ),
        (
            "\"d MMM yy 'at' h a\"",
            "'1 Mar 20 at 3 PM',u\n'2 Mar 20 at 12 AM',v\n",
            [dt.datetime(2020, 3, 1, 15), dt.datetime(2020, 3, 2)],
        ),
        (
            '"yyyy-MM-dd HH:mm:ss Z"',
            "'2020-03-01 12:00:00 +0200',u\n'2020-03-02 00:00:00 +0000',v\n",
            [dt.datetime(2020, 3, 1, 10), dt.datetime(2020, 3, 2)],
        ),
    ],
)
def test_dates_have_the_format_that_the_header_says(tmp_path, format_, rows, moments):
    table = load(tmp_path, HEAD.format(f"date {format_}") + rows)
    per = {"days": 86400, "seconds": 1}[table.columns[0].unit]
    assert (table.columns[0].values * per).tolist() == [
        (m - dt.datetime(1970, 1, 1)).total_seconds() for m in moments
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            HEAD.format("date 'ww-yyyy'") + "01-2020,u\n",
            "line 2: the date format 'ww-yyyy' has the field 'ww', which is not read",
        ),
        (
            HEAD.format("date yyyy-MM-dd") + "1.3.2020,u\n2020-03-02,v\n",
            "the attribute 'a' is a date, but '1.3.2020' does not have its format",
        ),
        (HEAD.format("numeric") + "{0 1, 1 v\n", "line 5: the row ends without a closing brace"),
        (HEAD.format("numeric") + "{0 1, 0 2}\n", "line 5: '0 2' is again 'index value'"),
        (HEAD.format("numeric") + "{0 1} 7\n", "line 5: '7' after the closing brace"),
        (HEAD.format("numeric") + "1,u,{0}\n2,v\n", "must hold a positive number in every row"),
        (HEAD.format("numeric") + "1,u,{x}\n2,v\n", "in every row; row 1 has 'x'"),
    ],
)
def test_what_it_does_not_is_refused_in_one_line(tmp_path, text, message):
    with pytest.raises(DataError) as caught:
        load(tmp_path, text)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_weights_of_rows_are_weights_unless_a_column_is_named(tmp_path):
    text = HEAD.format("numeric") + "1,u,{2.5}\n2 v {0.5}\n{0 3, 1 v}, {4}\n4,u\n"
    assert load(tmp_path, text).weights.tolist() == [2.5, 0.5, 4.0, 1.0]
    named = (
        HEAD.format("numeric").replace("@data", "@attribute w numeric\n@data")
        + "1,u,2,{2.5}\n2,v,3\n"
    )
    table = load(tmp_path, named, weight="w")
    assert table.weights.tolist() == [2.0, 3.0] and [c.name for c in table.columns] == ["a"]
