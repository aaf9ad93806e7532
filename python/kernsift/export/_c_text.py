"""The text of the C header: the sections of ``template.h``, filled in, and the numbers of the model."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import __version__
from ._deviation import Deviation
from ._emulate import FAR, Arithmetic
from ._learner import Learner
from ._model import Model, Warping

_, *_parts = re.split(r"^// ---- (.+)\n", Path(__file__).with_name("template.h").read_text("utf-8"), flags=re.M)
SECTIONS = {name: text.strip("\n") for name, text in zip(_parts[::2], _parts[1::2], strict=True)}

#: Stationary kernels, and the parts of the section "stationary" that are theirs.
_KERNEL = {
    "rbf": {"EXPONENTIAL"},
    "laplacian": {"EXPONENTIAL", "ABSOLUTE"},
    "matern32": {"MATERN32"},
    "matern52": {"MATERN52"},
}


_ARITHMETIC = {"less": "-=", "over": "/=", "times": "*=", "plus": "+="}


class _Writer:
    def __init__(self, name: str, dtype: str, sizes: dict[str, int], learns: bool, model: Model) -> None:
        self.name, self.dtype, self.sizes, self.learns = name, dtype, sizes, learns
        self.encoded = {"ENCODED"} if model.steps is not None else set()
        self.words = {"COORDINATES": model.n_features, "GIVEN": "row" if self.encoded else "x", **sizes}
        self.real = "float" if dtype == "float32" else "double"
        self.parts: list[str] = []

    def number(self, value: float) -> str:
        """Return a literal that reads back as the number in the target's type."""
        single = self.dtype == "float32"
        text = f"{float(np.float32(value)):.9g}" if single else f"{float(value):.17g}"
        if not any(c in text for c in ".en"):
            text += ".0"
        return text + "f" * single

    def array(self, name: str, values: ArrayLike) -> None:
        """Write a constant array of one or two dimensions."""
        table = np.atleast_1d(np.asarray(values))
        shape = "".join(f"[{n}]" for n in table.shape)
        rows = table if table.ndim == 2 else table[None]
        bodies = [textwrap.fill(", ".join(self.number(v) for v in row), 108) for row in rows]
        if table.ndim == 2:
            bodies = ["{" + body + "}" for body in bodies]
        self.parts.append(f"static const {self.real} {self.name}_{name}{shape} = {{\n" + ",\n".join(bodies) + "};")

    def section(self, name: str, term: str = "", parts: set[str] | None = None, **words: Any) -> None:
        """Write a section for a term: of #ifdef the `parts`, and for words in capitals, numbers and texts."""
        values = {w: self.number(v) if isinstance(v, float) else str(v) for w, v in {**self.words, **words}.items()}
        lines, kept = [], [True]
        for line in SECTIONS[name].splitlines():
            match line.split():
                case ["#ifdef" | "#ifndef" as directive, part]:
                    kept.append((part in self.encoded | (parts or set())) == (directive == "#ifdef"))
                case ["#else"]:
                    kept[-1] = not kept[-1]
                case ["#endif"]:
                    kept.pop()
                case _ if all(kept):
                    lines.append(line)
        text = "\n".join(lines)
        if not self.learns:
            text = text.replace("const model_state* s, ", "").replace("(s, ", "(")
        text = re.sub(r"\bmodel(_\w+?)(_T)?\b", lambda m: self.name + m[1] + (term if m[2] else ""), text)
        text = re.sub(r"\breal\b", self.real, text)
        self.parts.append(re.sub(r"\b[A-Z][A-Z0-9]+\b", lambda m: values.get(m[0], m[0]), text))


def header(
    model: Model,
    arithmetic: Arithmetic,
    learner: Learner | None,
    name: str,
    dtype: str,
    notes: list[str],
    deviation: Deviation | None = None,
) -> str:
    """Compose the whole file."""
    sizes = {"FEATURES": model.n_columns, "OUTPUTS": model.n_outputs, "KERNELS": model.n_basis}
    if model.classes is not None:
        sizes["CLASSES"] = len(model.classes)
    if learner is not None:
        sizes["STATE"] = learner.dimension
    w = _Writer(name, dtype, sizes, learner is not None, model)
    guard = f"{name.upper()}_H"
    note_lines = [line for note in notes for line in textwrap.wrap(note.replace("*/", "* /"), 112)]
    w.parts.append("/* Written by kernsift " + __version__ + ".\n" + "\n".join(f" * {n}" for n in note_lines) + "\n */")
    w.parts.append(f"#ifndef {guard}\n#define {guard}")
    w.parts.append("\n".join(f"#define {name.upper()}_{key} {value}" for key, value in sizes.items()))
    _mathematics(w, model, deviation)
    w.section("unknown")
    if model.steps is not None:
        lines = []
        for k, coordinate in enumerate(model.steps.columns):
            done = [_operation(w, *operation) for operation in coordinate.operations]
            lines += [f"t = row[{coordinate.column}]", *done, f"x[{k}] = t"]
        w.section("encode", OPERATIONS=";\n  ".join(lines))
    if learner is None:
        _fixed(w, model, arithmetic)
        if deviation is not None:
            _deviation(w, arithmetic, deviation)
    else:
        _learning(w, arithmetic, learner, deviation)
    _answers(w, model)
    w.parts.append(f"#endif /* {guard} */")
    return "\n\n".join(w.parts) + "\n"


def _operation(w: _Writer, kind: str, *how: Any) -> str:
    """The statement of an operation on t; an infinite number becomes NaN, sooner or later, whatever it is."""

    def number(value: Any) -> str:
        return w.number(0.0 if value is None else value)

    def is_(mark: Any) -> str:
        return "t != t" if mark is None else f"t == {w.number(mark)}"

    match kind:
        case "less" | "over" | "times" | "plus":
            return f"t {_ARITHMETIC[kind]} {number(how[0])}"
        case "clip":
            low, high = map(number, how)
            return f"t = (t < {low} ? {low} : t > {high} ? {high} : t) + t * 0"
        case "fill":
            return f"if ({is_(how[0])}) t = {number(how[1])}"
        case "missing" | "at":
            return f"t = {is_(how[0])} ? 1 : t * 0"
    levels, codes, unknown, _ = how
    known = "".join(f"{is_(level)} ? {number(code)} : " for level, code in zip(levels, codes, strict=True))
    other = "(t - t) / (t - t)" if unknown is None else f"t != t ? {number(unknown)} : {number(unknown)} + t * 0"
    return f"t = {known}{other}"


def _mathematics(w: _Writer, model: Model, deviation: Deviation | None) -> None:
    """Write exp and sqrt, where they are used."""
    single = w.dtype == "float32"
    kinds = {term.kernel.name for term in model.terms}
    varies = deviation is not None and deviation.noise is not None
    if kinds & set(_KERNEL) or model.temperature is not None or varies:
        factorials = np.cumprod(np.arange(1, 8 if single else 14, dtype=np.float64))
        last, *others = (1 / factorials[::-1]).tolist()
        horner = ";\n  ".join(f"p = p * r + {w.number(f)}" for f in [*others, 1.0])
        # ln 2 in two parts, n times the first exact
        high = 0.693359375 if single else 6.93147180369123816490e-01
        low = -2.12194440e-4 if single else 1.90821492927058770002e-10
        log2e, lowest = float(1 / np.log(2)), -87.0 if single else -708.0
        w.section("exp", LAST=last, HALF=0.5, LOWEST=lowest, LOG2E=log2e, HIGH=high, LOW=low, HORNER=horner)
    if kinds & {"matern32", "matern52"} or deviation is not None:
        w.section("sqrt", HALF=0.5, QUARTER=0.25, ROUNDS=4 if single else 6)


def _kernel(w: _Writer, term: dict[str, Any], t: str) -> dict[str, Any]:
    """Write the kernel of vector i with a row; return what its callers need to know of it."""
    w.array(f"vectors{t}", term["vectors"])
    if term["kind"] == "polynomial":
        w.section("polynomial", t, COEF0=float(term["coef0"]), DEGREE=term["degree"])
        return {"ROW": "x", "parts": set()}
    w.array(f"centre{t}", term["centre"])
    w.array(f"scale{t}", term["scale"])
    warped = "slopes" in term
    for name in Warping._fields if warped else ():
        w.array(f"{name}{t}", term[name])
    bins = term["slopes"].shape[1] if warped else 0
    w.section(
        "stationary", t, _KERNEL[term["kind"]] | ({"WARPED"} if warped else set()), FAR=FAR, THIRD=5 / 3, BINS=bins
    )
    return {"ROW": "z", "parts": {"STATIONARY"}}


def _fixed(w: _Writer, model: Model, arithmetic: Arithmetic) -> None:
    """Write the outputs from constant coefficients."""
    w.array("intercept", model.intercept)
    names = [str(place) if len(arithmetic.terms) > 1 else "" for place in range(len(arithmetic.terms))]
    for t, term in zip(names, arithmetic.terms, strict=True):
        if term["kind"] == "linear":
            w.array(f"weights{t}", term["weights"])
            w.section("add linear", t)
        else:
            row = _kernel(w, term, t)
            w.array(f"coef{t}", term["coef"])
            w.section("add kernels", t, **row, KERNELS=len(term["coef"]))
    terms = [f"{w.name}_add{t}(x, out)" for t in names]
    parts = {"ANY"} if terms else set()
    if model.bounds is not None:
        parts.add("BOUNDED")
        for name, end in zip(("least", "largest"), model.bounds.T, strict=True):
            w.array(name, end)
    w.section("scores", parts=parts, TERMS=";\n  ".join(terms))


def _deviation(w: _Writer, arithmetic: Arithmetic, deviation: Deviation) -> None:
    """Write the standard deviations."""
    parts = {"STATIONARY"} if arithmetic.terms[0]["kind"] != "polynomial" else set()
    if deviation.spread.prior:
        parts.add("SPANNED")
        w.array("span", deviation.L[np.tril_indices(len(deviation.L))])
    w.array("spread", np.atleast_2d(deviation.Q))
    w.array("deviation_scale", deviation.scale)
    if deviation.along is not None:
        parts.add("SLOPED")
        w.array("along", deviation.along)
    if deviation.noise is not None:
        parts.add("VARYING")
        noise = deviation.noise
        for name, values in (("level_coef", noise.coef), ("level_slopes", noise.slopes), ("level_along", noise.along)):
            if values is not None:
                w.array(name, np.atleast_2d(values))
        for name, values in (("level", noise.intercept), ("lowest", noise.low), ("highest", noise.high)):
            w.array(name, values)
    row, groups = "z" if "STATIONARY" in parts else "x", len(deviation.spread.Q)
    sizes = {"GROUPS": groups, "GROUP": "o" if groups > 1 else "0", "DIRECTIONS": len(deviation.Q) // groups}
    term = "0" if len(arithmetic.terms) > 1 else ""
    w.section("deviation", term, parts, ROW=row, PRIOR=float(deviation.spread.prior), HALF=0.5, **sizes)
    w.section("deviation values" if len(deviation.scale) > 1 else "deviation value")


def _learning(w: _Writer, arithmetic: Arithmetic, learner: Learner, deviation: Deviation | None) -> None:
    """Write the state, the outputs from it, and its update."""
    row = _kernel(w, arithmetic._kernel_term(), "")
    U, d = learner.factors
    q, bias = learner.dimension, learner.bias
    w.array("factor", learner.L[np.tril_indices(len(learner.L))])
    w.array("first_theta", learner.theta)
    w.array("first_d", d)
    packed = np.concatenate([U[:j, j] for j in range(q)]) if q > 1 else np.zeros(1)
    w.array("first_u", packed)
    row["parts"] |= {"CONSTANT"} if bias else set()
    numbers: dict[str, Any] = {"DIMENSION": q, "PACKED": len(packed), "BIAS": bias, "LEAST": 1e-30}
    if deviation is not None:
        w.array("deviation_scale", deviation.scale)
        w.array("first_squares", learner.scale[:, 0])
        w.array("first_counted", learner.scale[:, 1])
        row["parts"].add("SCALED")
        numbers |= {"PRIOR": float(deviation.spread.prior), "KEPT": 0.99, "MOST": 25.0}
    w.section("state", **row, **numbers)
    if deviation is not None:
        w.section("deviation learning", **numbers)
        w.section("deviation values" if len(deviation.scale) > 1 else "deviation value")


def _label(value: Any) -> str:
    """Return a string literal; what is not plain ASCII is written byte by byte."""
    plain = (chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}" for b in str(value).encode())
    return '"' + "".join(plain) + '"'


def _labels(classes: Any) -> tuple[str, str]:
    """Type of the labels and their initialiser."""
    if classes.dtype.kind in "biu":
        values = [int(c) for c in classes]
        wide = any(abs(v) >= 2**31 - 1 for v in values)
        return "long long" if wide else "long", ", ".join(f"{v}{'LL' * wide}" for v in values)
    if classes.dtype.kind == "f":
        return "double", ", ".join(f"{float(c)!r}" for c in classes)
    return "const char *", ", ".join(_label(c) for c in classes)


def _answers(w: _Writer, model: Model) -> None:
    """Write predictions and, with a state, learning, in the form of the targets."""
    values = "values" if model.n_outputs > 1 else "value"
    if model.kind == "classifier":
        parts = {"SEVERAL"} if model.n_outputs > 1 else set()
        kind, labels = _labels(np.asarray(model.classes))
        w.section("class", parts=parts, LABEL=kind, LABELS=labels)
        if model.temperature is not None:
            w.section("probabilities", parts=parts, TEMPERATURE=float(model.temperature))
        if w.learns:
            w.section("learn class", parts=parts)
        return
    w.section("transform" if model.kind == "transformer" else values)
    if w.learns:
        w.section(f"learn {values}")
