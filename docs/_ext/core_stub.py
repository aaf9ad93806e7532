"""The compiled core as Python sees it: signatures from the stub `_core.pyi`, words from the module itself."""

from __future__ import annotations

import ast
from importlib.resources import files

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective


def signature(function: ast.FunctionDef) -> str:
    """The arguments and what is answered, without self."""
    arguments = ast.unparse(function.args)
    method = arguments.removeprefix("self").removeprefix(", ")
    returns = f" -> {ast.unparse(function.returns)}" if function.returns else ""
    return f"({method}){returns}"


def words(thing) -> list[str]:
    """A docstring without the signature that pybind11 puts on its first line."""
    text = (thing.__doc__ or "").strip()
    lines = text.splitlines()
    return [line.strip() for line in lines if "->" not in line and "Overloaded" not in line]


class CoreStub(SphinxDirective):
    """All classes and functions of the stub."""

    def run(self):
        from kernsift import _core

        tree = ast.parse(files("kernsift").joinpath("_core.pyi").read_text(encoding="utf-8"))
        lines = [".. py:module:: kernsift._core", "   :no-index:", ""]
        for node in tree.body:
            if isinstance(node, ast.FunctionDef):
                lines += [f".. py:function:: {node.name}{signature(node)}", "   :no-index:", ""]
                lines += [f"   {line}" for line in words(getattr(_core, node.name, None))] + [""]
            elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                lines += self.of_class(node, tree, getattr(_core, node.name, None))
        parent = nodes.container()
        self.state.nested_parse(StringList(lines, source="_core.pyi"), 0, parent)
        return parent.children

    def of_class(self, node, tree, runtime):
        bases = [n for n in tree.body if isinstance(n, ast.ClassDef) and n.name in [ast.unparse(b) for b in node.bases]]
        members = [f for n in [*bases, node] for f in n.body if isinstance(f, ast.FunctionDef)]
        made = [signature(f).removesuffix(" -> None") for f in members if f.name == "__init__"]
        lines = [f".. py:class:: {node.name}{made[0] if made else ''}", "   :no-index:", ""]
        lines += [f"   {line}" for line in words(runtime)] + [""]
        for function in members:
            if function.name.startswith("__"):
                continue
            decorators = {ast.unparse(d) for d in function.decorator_list}
            kind = "attribute" if "property" in decorators else "method"
            after = "" if kind == "attribute" else signature(function)
            lines += [f"   .. py:{kind}:: {function.name}{after}", "      :no-index:"]
            if kind == "attribute" and function.returns:
                lines += [f"      :type: {ast.unparse(function.returns)}"]
            if "classmethod" in decorators or "staticmethod" in decorators:
                lines += ["      :staticmethod:" if "staticmethod" in decorators else "      :classmethod:"]
            lines += ["", *(f"      {line}" for line in words(getattr(runtime, function.name, None))), ""]
        return lines


def setup(app):
    app.add_directive("core-stub", CoreStub)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
