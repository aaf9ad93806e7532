"""The text of the C header."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import __version__
from ._emulate import FAR, Arithmetic
from ._learner import Learner
from ._model import Model

# exp(x) for x <= 0: x = r - n ln 2 with |r| <= ln(2)/2, a Taylor polynomial in r, and 2^-n by squaring.
_EXP = """
static inline {real} {name}_exp({real} x) {{ /* exp(x) for x <= 0 */
  {real} r, p = {last}, power = {half}, scale = {one};
  int n;
  if (!(x > {lowest})) return 0;
  n = (int)({half} - x * {log2e});
  r = (x + ({real})n * {high}) + ({real})n * {low};
{horner}
  for (; n > 0; n >>= 1) {{
    if (n & 1) scale *= power;
    power *= power;
  }}
  return p * scale;
}}
"""

_SQRT = """
static inline {real} {name}_sqrt({real} x) {{ /* 0 <= x <= 1e8 */
  {real} y, scale = {one};
  int i;
  if (!(x > 0)) return 0;
  for (; x > 4; x *= {quarter}) scale *= 2;
  for (; x < 1; x *= 4) scale *= {half};
  y = {half} * (x + 1);
  for (i = 0; i < {rounds}; ++i) y = {half} * (y + x / y);
  return y * scale;
}}
"""


_FINITE = """
static inline {real} {name}_unknown(const {real} *x, int n) {{ /* 0, or NaN where one of x is NaN or infinite */
  {real} sum = 0;
  int j;
  for (j = 0; j < n; ++j) sum += x[j] * 0;
  return sum;
}}
"""


class _Writer:
    def __init__(self, name: str, dtype: str) -> None:
        self.name, self.dtype = name, dtype
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

    def code(self, template: str, **more: Any) -> None:
        """Write a piece of code, with {name}, {real} and `more` filled in."""
        self.parts.append(template.strip("\n").format(name=self.name, real=self.real, **more))


def header(
    model: Model, arithmetic: Arithmetic, learner: Learner | None, name: str, dtype: str, notes: list[str]
) -> str:
    """Compose the whole file."""
    w = _Writer(name, dtype)
    guard = f"{name.upper()}_H"
    note_lines = [line for note in notes for line in textwrap.wrap(note.replace("*/", "* /"), 112)]
    w.parts.append("/* Written by kernsift " + __version__ + ".\n" + "\n".join(f" * {n}" for n in note_lines) + "\n */")
    w.parts.append(f"#ifndef {guard}\n#define {guard}")
    sizes = {"FEATURES": model.n_features, "OUTPUTS": model.n_outputs, "KERNELS": model.n_basis}
    if model.classes is not None:
        sizes["CLASSES"] = len(model.classes)
    if learner is not None:
        sizes["STATE"] = learner.dimension
    w.parts.append("\n".join(f"#define {name.upper()}_{key} {value}" for key, value in sizes.items()))
    _mathematics(w, model)
    w.code(_FINITE)
    if learner is None:
        _fixed(w, model, arithmetic)
    else:
        _learning(w, model, arithmetic, learner)
    _answers(w, model, learner is not None)
    w.parts.append(f"#endif /* {guard} */")
    return "\n\n".join(w.parts) + "\n"


def _mathematics(w: _Writer, model: Model) -> None:
    """Write exp and sqrt, where they are used."""
    single = w.dtype == "float32"
    kinds = {term.kernel.name for term in model.terms}
    if kinds - {"linear", "polynomial"} or model.temperature is not None:
        degree = 7 if single else 13
        factorials = np.cumprod(np.arange(1, degree + 1, dtype=np.float64))
        horner = [f"  p = p * r + {w.number(1 / f)};" for f in factorials[-2::-1]]
        w.code(
            _EXP,
            last=w.number(1 / factorials[-1]),
            half=w.number(0.5),
            one=w.number(1),
            lowest=w.number(-87 if single else -708),
            log2e=w.number(1 / np.log(2)),
            # ln 2 in two parts, n times the first exact
            high=w.number(0.693359375 if single else 6.93147180369123816490e-01),
            low=w.number(-2.12194440e-4 if single else 1.90821492927058770002e-10),
            horner="\n".join([*horner, f"  p = p * r + {w.number(1)};"]),
        )
    if kinds & {"matern32", "matern52"}:
        numbers = {"half": w.number(0.5), "one": w.number(1), "quarter": w.number(0.25)}
        w.code(_SQRT, rounds=4 if single else 6, **numbers)


_KERNEL = {
    "rbf": "return {name}_exp(-t);",
    "laplacian": "return {name}_exp(-t);",
    "matern32": "if (t > {far}) t = {far};\n  t = {name}_sqrt({factor} * t);\n  return ({one} + t) * {name}_exp(-t);",
    "matern52": "if (t > {far}) t = {far};\n  u = {name}_sqrt({factor} * t);\n"
    "  return ({one} + u + {third} * t) * {name}_exp(-u);",
}

_STATIONARY = """
static inline {real} {name}_kernel{t}(int i, const {real} *z) {{
  {real} t = 0, u;
  int j;
  for (j = 0; j < {d}; ++j) {{
    u = z[j] - {name}_vectors{t}[i][j];
    t += {add};
  }}
  {value}
}}
"""

_PREPARE = """
static inline void {name}_prepare{t}(const {real} *x, {real} *z) {{
  int j;
  for (j = 0; j < {d}; ++j) z[j] = (x[j] - {name}_centre{t}[j]) * {name}_scale{t}[j];
}}
"""

_POLYNOMIAL = """
static inline {real} {name}_kernel{t}(int i, const {real} *x) {{
  {real} t = {zero}, power = {one};
  int j;
  for (j = 0; j < {d}; ++j) t += {name}_vectors{t}[i][j] * x[j];
  t += {coef0};
  for (j = 0; j < {degree}; ++j) power *= t;
  return power;
}}
"""


def _kernel(w: _Writer, term: dict[str, Any], t: str, d: int) -> None:
    """Write the kernel of vector i with a row; a stationary one wants the row prepared."""
    w.array(f"vectors{t}", term["vectors"])
    if term["kind"] == "polynomial":
        numbers = {"coef0": w.number(term["coef0"]), "one": w.number(1), "zero": w.number(0)}
        w.code(_POLYNOMIAL, t=t, d=d, degree=term["degree"], **numbers)
        return
    w.array(f"centre{t}", term["centre"])
    w.array(f"scale{t}", term["scale"])
    w.code(_PREPARE, t=t, d=d)
    value = _KERNEL[term["kind"]].format(
        name=w.name,
        far=w.number(FAR),
        one=w.number(1),
        factor=w.number(3 if term["kind"] == "matern32" else 5),
        third=w.number(5 / 3),
    )
    add = "u < 0 ? -u : u" if term["kind"] == "laplacian" else "u * u"
    w.code(_STATIONARY, t=t, d=d, add=add, value=value)


def _fixed(w: _Writer, model: Model, arithmetic: Arithmetic) -> None:
    """Write the outputs from constant coefficients."""
    w.array("intercept", model.intercept)
    body, z = [], False
    for place, term in enumerate(arithmetic.terms):
        t = str(place) if len(arithmetic.terms) > 1 else ""
        if term["kind"] == "linear":
            w.array(f"weights{t}", term["weights"])
            loop = f"for (j = 0; j < {model.n_features}; ++j) out[o] += {w.name}_weights{t}[o][j] * x[j];"
            body.append(f"  for (o = 0; o < {model.n_outputs}; ++o)\n    {loop}")
            continue
        _kernel(w, term, t, model.n_features)
        w.array(f"coef{t}", term["coef"])
        row = "x"
        if term["kind"] != "polynomial":
            z, row = True, "z"
            body.append(f"  {w.name}_prepare{t}(x, z);")
        body.append(
            f"  for (j = 0; j < {len(term['coef'])}; ++j) {{\n"
            f"    const {w.real} k = {w.name}_kernel{t}(j, {row});\n"
            f"    for (o = 0; o < {model.n_outputs}; ++o) out[o] += {w.name}_coef{t}[j][o] * k;\n"
            "  }"
        )
    declared = (f"  {w.real} z[{model.n_features}];\n" if z else "") + ("  int j, o;" if body else "  int o;")
    w.code(
        """
static inline void {name}_scores(const {real} *x, {real} *out) {{
{declared}
  const {real} unknown = {name}_unknown(x, {features});
  for (o = 0; o < {outputs}; ++o) out[o] = {name}_intercept[o] + unknown;
{body}
}}
""",
        declared=declared,
        features=model.n_features,
        outputs=model.n_outputs,
        body="\n".join(body),
    )


_STATE = """
typedef struct {{ /* the caller's: copy it, keep it, one for each stream */
  {real} theta[{q}][{outputs}]; /* coefficients of the coordinates */
  {real} d[{q}]; /* covariance U D U': D, */
  {real} u[{packed}]; /* and U above its diagonal of ones, by columns */
}} {name}_state;

static inline void {name}_begin({name}_state *s) {{ /* as it was when written */
  int i, o;
  for (i = 0; i < {q}; ++i) {{
    s->d[i] = {name}_first_d[i];
    for (o = 0; o < {outputs}; ++o) s->theta[i][o] = {name}_first_theta[i][o];
  }}
  for (i = 0; i < {packed}; ++i) s->u[i] = {name}_first_u[i];
}}

static inline void {name}_coordinates(const {real} *x, {real} *w) {{ /* w = [1; L^-1 k], the 1 only with a bias */
  {declare}int i, j;
  {prepare}
  for (i = 0; i < {m}; ++i) {{
    const {real} *row = {name}_factor + i * (i + 1) / 2;
    {real} t = {name}_kernel(i, {row});
    for (j = 0; j < i; ++j) t -= row[j] * w[{bias} + j];
    w[{bias} + i] = t / row[i];
  }}
}}

static inline void {name}_at(const {name}_state *s, const {real} *w, {real} *out) {{
  int i, o;
  for (o = 0; o < {outputs}; ++o) {{
    out[o] = 0;
    for (i = 0; i < {q}; ++i) out[o] += w[i] * s->theta[i][o];
  }}
}}

static inline void {name}_scores(const {name}_state *s, const {real} *x, {real} *out) {{
  const {real} unknown = {name}_unknown(x, {features});
  {real} w[{q}];
  int o;
  {name}_coordinates(x, w);
  {name}_at(s, w, out);
  for (o = 0; o < {outputs}; ++o) out[o] += unknown;
}}

static inline void {name}_update({name}_state *s, const {real} *x, const {real} *y, {real} weight) {{
  {real} w[{q}], b[{q}], e[{outputs}], before, now;
  int i, j, o;
  if (!(weight > {least}) || {name}_unknown(x, {features}) != 0 || {name}_unknown(y, {outputs}) != 0) return;
  {name}_coordinates(x, w);
  {name}_at(s, w, e);
  for (o = 0; o < {outputs}; ++o) e[o] = y[o] - e[o];
  before = {one} / weight;
  for (j = 0; j < {q}; ++j) {{ /* Bierman's update of U and D; b becomes the gain times `now` */
    {real} *u = s->u + j * (j - 1) / 2;
    {real} f = w[j], v, p;
    for (i = 0; i < j; ++i) f += u[i] * w[i];
    v = s->d[j] * f;
    now = before + v * f;
    s->d[j] *= before / now;
    p = f / before;
    for (i = 0; i < j; ++i) {{
      const {real} old = u[i];
      u[i] -= b[i] * p;
      b[i] += old * v;
    }}
    b[j] = v;
    before = now;
  }}
  for (i = 0; i < {q}; ++i)
    for (o = 0; o < {outputs}; ++o) s->theta[i][o] += b[i] * e[o] / before;
}}
"""


def _learning(w: _Writer, model: Model, arithmetic: Arithmetic, learner: Learner) -> None:
    """Write the state, the outputs from it, and its update."""
    term = arithmetic._kernel_term()
    _kernel(w, term, "", model.n_features)
    U, d = learner.factors
    m, q, bias = len(learner.L), learner.dimension, learner.bias
    w.array("factor", learner.L[np.tril_indices(m)])
    w.array("first_theta", learner.theta)
    w.array("first_d", d)
    packed = np.concatenate([U[:j, j] for j in range(q)]) if q > 1 else np.zeros(1)
    w.array("first_u", packed)
    stationary = term["kind"] != "polynomial"
    prepare = [f"w[0] = {w.number(1)};"] * bias + [f"{w.name}_prepare(x, z);"] * stationary
    w.code(
        _STATE,
        q=q,
        m=m,
        bias=bias,
        features=model.n_features,
        outputs=model.n_outputs,
        packed=len(packed),
        one=w.number(1),
        least=w.number(1e-30),
        row="z" if stationary else "x",
        declare=f"{w.real} z[{model.n_features}];\n  " if stationary else "",
        prepare="\n  ".join(prepare),
    )


def _label(value: Any) -> str:
    """Return a string literal; what is not plain ASCII is written byte by byte."""
    plain = (chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}" for b in str(value).encode())
    return '"' + "".join(plain) + '"'


def _labels(w: _Writer, classes: Any) -> tuple[str, str]:
    """Type of the labels and their initialiser."""
    if classes.dtype.kind in "biu":
        values = [int(c) for c in classes]
        wide = any(abs(v) >= 2**31 - 1 for v in values)
        return "long long" if wide else "long", ", ".join(f"{v}{'LL' * wide}" for v in values)
    if classes.dtype.kind == "f":
        return "double", ", ".join(f"{float(c)!r}" for c in classes)
    return "const char *", ", ".join(_label(c) for c in classes)


def _answers(w: _Writer, model: Model, learns: bool) -> None:
    """Write the header with the parts the caller selects."""
    state = f"const {w.name}_state *s, " if learns else ""
    s, outputs = ("s, " if learns else ""), model.n_outputs
    if model.kind == "classifier":
        _class_answers(w, model, state, s)
    elif outputs == 1 and model.kind == "regressor":
        w.code(
            "static inline {real} {name}_predict({state}const {real} *x) {{\n"
            "  {real} out;\n  {name}_scores({s}x, &out);\n  return out;\n}}",
            state=state,
            s=s,
        )
    else:
        what = "transform" if model.kind == "transformer" else "predict"
        w.code(
            "static inline void {name}_{what}({state}const {real} *x, {real} *out) {{ {name}_scores({s}x, out); }}",
            what=what,
            state=state,
            s=s,
        )
    if not learns:
        return
    if model.kind == "classifier":
        y = "y[o] = o == k ? {one} : -{one};" if outputs > 1 else "y[o] = k == 1 ? {one} : -{one};"
        w.code(
            "static inline void {name}_learn({name}_state *s, const {real} *x, int k, {real} weight) {{ "
            "/* k: number of the class */\n  {real} y[{outputs}];\n  int o;\n"
            "  for (o = 0; o < {outputs}; ++o) " + y + "\n  {name}_update(s, x, y, weight);\n}}",
            one=w.number(1),
            outputs=outputs,
        )
    else:
        kind, value = (f"{w.real} y", "&y") if outputs == 1 else (f"const {w.real} *y", "y")
        w.code(
            "static inline void {name}_learn({name}_state *s, const {real} *x, {kind}, {real} weight) {{\n"
            "  {name}_update(s, x, {value}, weight);\n}}",
            kind=kind,
            value=value,
        )


def _class_answers(w: _Writer, model: Model, state: str, s: str) -> None:
    outputs, classes = model.n_outputs, np.asarray(model.classes)
    if outputs == 1:
        best = "  if (scores[0] != scores[0]) return -1;\n  return scores[0] > 0;"
    else:
        best = (
            f"  int best = 0, i;\n  {w.name}_scores({s}x, scores);\n  if (scores[0] != scores[0]) return -1;\n"
            f"  for (i = 1; i < {outputs}; ++i)\n    if (scores[i] > scores[best]) best = i;\n  return best;"
        )
    begin = f"  {w.name}_scores({s}x, scores);\n" if outputs == 1 else ""
    w.code(
        "static inline int {name}_predict({state}const {real} *x) {{ /* number of the class, or -1 */\n"
        "  {real} scores[{outputs}];\n{begin}{best}\n}}",
        state=state,
        outputs=outputs,
        begin=begin,
        best=best,
    )
    kind, labels = _labels(w, classes)
    w.code(
        "static inline {kind} {name}_label(int k) {{\n  static {const}{kind} {star}labels[{n}] = {{{labels}}};\n"
        "  return k < 0 ? 0 : labels[k];\n}}",
        kind=kind,
        const="" if kind.endswith("*") else "const ",
        star="const " if kind.endswith("*") else "",
        n=len(classes),
        labels=labels,
    )
    if model.temperature is None:
        return
    spread = "  out[1] = out[0];\n  out[0] = -out[1];\n" if outputs == 1 else ""
    w.code(
        """
static inline void {name}_probabilities({state}const {real} *x, {real} *out) {{ /* one a class */
  {real} top, sum = 0;
  int i;
  {name}_scores({s}x, out);
{spread}  top = out[0];
  for (i = 1; i < {n}; ++i)
    if (out[i] > top) top = out[i];
  for (i = 0; i < {n}; ++i) sum += out[i] = {name}_exp({temperature} * (out[i] - top));
  for (i = 0; i < {n}; ++i) out[i] /= sum;
}}
""",
        state=state,
        s=s,
        spread=spread,
        n=len(classes),
        temperature=w.number(float(model.temperature)),
    )
