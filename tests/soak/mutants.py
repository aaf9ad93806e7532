"""Statements of C++, and what they become when they are made wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator

INDICES = ("i", "row", "last")  # arguments that are no quantity


def without_comments(text: str) -> str:
    """The text with spaces in the place of comments."""
    return re.sub(r"//[^\n]*", lambda match: " " * len(match[0]), text)


def statement_at(text: str, at: int) -> tuple[int, int] | None:
    """First and last character of the statement that holds the position, None where a block begins."""
    begin, depth = at, 0
    while begin > 0 and (depth or text[begin - 1] not in ";{}"):
        begin -= 1
        depth += (text[begin] in ")]") - (text[begin] in "([")
    for end, char in _at_depth_0(text, begin):
        if end >= at and char == "{":
            return None
        if char == ";":
            while text[begin].isspace():
                begin += 1
            return begin, end
    return None


def _at_depth_0(text: str, begin: int = 0) -> Iterator[tuple[int, str]]:
    """Positions and characters outside parentheses and brackets."""
    depth = 0
    for i in range(begin, len(text)):
        depth -= text[i] in ")]}"
        if depth <= 0:
            yield i, text[i]
        depth += text[i] in "([{"


def mutants(statement: str) -> list[tuple[str, str]]:
    """(what was done, the statement made wrong), the strongest first. Some may not compile."""
    head, body = _split_head(statement)
    if match := re.match(r"return\b", body):
        at, operator = match.end() - 1, " "
        value = body[match.end() :]
        made = _of_value(body[: at + 1] + " ", value)
    elif assignment := _assignment(body):
        at, operator = assignment
        left, value = body[:at], body[at + len(operator) :]
        if operator in ("+=", "-="):
            other = "-=" if operator == "+=" else "+="
            made = [("sign", f"{left}{other}{value}"), ("doubled", f"{left}{operator} 2.0 * ({value.strip()})")]
        else:
            made = _of_value(f"{left}{operator} ", value)
    else:
        made = _of_call(body)
    result = [(what, head + wrong) for what, wrong in made]
    if match := re.match(r"if\s*\(", statement):
        close = _closing(statement, match.end() - 1)
        condition = statement[match.end() : close]
        result.append(("condition", f"if (!({condition})){statement[close + 1 :]}"))
    result.append(("left out", f"{head}(void)0"))
    return result


def _split_head(statement: str) -> tuple[str, str]:
    """`if (...)`, `for (...)`, `else`, `case x:` before a statement, and the statement."""
    at = 0
    while match := re.compile(
        r"\s*(?:(else|case [^:]*(?:::[^:]+)*:(?!:))|(?:if|for|while)\b(?:\s*constexpr)?\s*\()"
    ).match(statement, at):
        at = match.end() if match[1] else _closing(statement, match.end() - 1) + 1
    at += len(statement[at:]) - len(statement[at:].lstrip())
    return statement[:at], statement[at:]


def _closing(text: str, opening: int) -> int:
    depth = 0
    for i in range(opening, len(text)):
        depth += (text[i] in "([{") - (text[i] in ")]}")
        if depth == 0:
            return i
    raise ValueError(f"no closing parenthesis in {text!r}")


def _assignment(body: str) -> tuple[int, str] | None:
    """Position and operator of the first assignment outside parentheses."""
    for i, char in _at_depth_0(body):
        if char == "=" and body[i + 1 : i + 2] != "=" and body[i - 1] not in "=<>!":
            return (i - 1, body[i - 1 : i + 1]) if body[i - 1] in "+-*/" else (i, "=")
    return None


def _of_value(before: str, value: str) -> list[tuple[str, str]]:
    """The first of the values with its sign turned, and doubled; of a comparison the contrary."""
    cut = next((i for i, char in _at_depth_0(value) if char == ","), len(value))
    value, rest = value[:cut].strip(), value[cut:]
    outside = "".join(char for _, char in _at_depth_0(value))
    if "?" not in outside and re.search(r"\s(?:[<>]=?|==|!=|&&|\|\|)\s|^!", outside):
        return [("contrary", f"{before}!({value}){rest}")]
    return [("sign", f"{before}-({value}){rest}"), ("doubled", f"{before}2.0 * ({value}){rest}")]


def _of_call(body: str) -> list[tuple[str, str]]:
    """A call with its last argument, or else its first, made wrong."""
    if not body.endswith(")"):
        return []
    opening = max(i for i, char in _at_depth_0(body) if char == "(")
    inside = body[opening + 1 : -1]
    cuts = [-1, *(i for i, char in _at_depth_0(inside) if char == ","), len(inside)]
    made = []
    for k in dict.fromkeys([len(cuts) - 2, 0]) if inside.strip() else []:
        first, argument, last = inside[: cuts[k] + 1], inside[cuts[k] + 1 : cuts[k + 1]].strip(), inside[cuts[k + 1] :]
        if argument in INDICES:
            continue
        for what, wrong in (("sign", f"-({argument})"), ("doubled", f"2.0 * ({argument})")):
            made.append((what, f"{body[: opening + 1]}{first} {wrong}{last})"))
    return made
