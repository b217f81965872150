"""Sentences are for people: no code compares one, searches in it or takes it apart.

The search follows a sentence from where it is rendered or stored through names, f-strings and
functions of the same module.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from edl import messages

ROOT = Path(__file__).parents[3]
PACKAGES = ("edl", "reconciler", "kubectl_edl", "webhook", "certs")
RENDERERS = frozenset(messages.__all__)
FIELDS = frozenset({"message", "problem"})
"""Attributes, keys and names that hold a sentence."""
MENTIONED = re.compile(rf"\b(?:{'|'.join(RENDERERS | FIELDS)})\b")
"""A module without one of these words has no sentence."""
SAME = frozenset({"casefold", "get", "join", "lower", "lstrip", "rstrip", "strip", "upper"})
"""Methods of which a sentence that goes in comes out."""
READS = frozenset(
    {"startswith", "endswith", "partition", "rpartition", "split", "rsplit", "splitlines"}
    | {"removeprefix", "removesuffix", "find", "rfind", "index", "rindex", "count"}
)
TAKES = frozenset({"match", "search", "fullmatch", "findall", "finditer", "split", "fnmatch"})
"""Functions and methods that read the text that is passed to them."""
PARTS: dict[type[ast.expr], tuple[str, ...]] = {
    ast.BinOp: ("left", "right"),
    ast.BoolOp: ("values",),
    ast.FormattedValue: ("value",),
    ast.GeneratorExp: ("elt",),
    ast.IfExp: ("body", "orelse"),
    ast.JoinedStr: ("values",),
    ast.List: ("elts",),
    ast.ListComp: ("elt",),
    ast.NamedExpr: ("value",),
    ast.SetComp: ("elt",),
    ast.Starred: ("value",),
    ast.Tuple: ("elts",),
}
KEYED = frozenset({"get", "pop", "setdefault", "Code", "code_of", "read_reason"})


ALLOWED = {
    "edl/kube/api/api_errors.py:refusal": "the API server has no field for a refusing webhook",
    "edl/kube/api/api_errors.py:_forbidden": "the API server has no field for a missing right",
    "edl/kube/create_failures.py:_read": "an Event of the Job controller has no field",
    "edl/kube/create_failures.py:exceeded_quota": "a refusal has no field for its quota",
    "edl/kube/api/api_errors.py:_without_objects": "a text is shortened and then only shown",
    "edl/steps/plan_steps.py:_has_reason": "a patch that would change nothing is not written",
    "edl/kube/problem_log.py:report": "a problem with the same text is logged once",
    "kubectl_edl/client/cluster_view.py:_with_name": "a text gets a name and then is only shown",
    "kubectl_edl/doctor/view.py:_unchecked": "a right that several checks lack is shown once",
    "kubectl_edl/history/command.py:_distinct": "Events with the same text are shown once",
}


def readings(tree: ast.Module) -> set[str]:
    """The functions in which a sentence is read; empty text for a module's own lines."""
    nodes = [*ast.walk(tree)]
    told = _Sentences(scopes=_scopes(nodes))
    while told.spread(nodes):
        pass
    scopes = (told.scopes.get(node) for node in nodes if told.is_read_by(node))
    return {scope.name if scope else "" for scope in scopes}


def _scopes(nodes: Iterable[ast.AST]) -> dict[ast.AST, ast.FunctionDef]:
    """The innermost function around each node, of nodes from the outermost on."""
    found: dict[ast.AST, ast.FunctionDef] = {}
    for scope in nodes:
        if isinstance(scope, ast.FunctionDef):
            found |= dict.fromkeys(ast.walk(scope), scope)
    return found


@dataclass
class _Sentences:
    """What holds or returns a sentence in one module: names by function, and functions."""

    scopes: Mapping[ast.AST, ast.FunctionDef]
    names: set[tuple[ast.AST | None, str]] = field(default_factory=set)
    functions: set[str] = field(default_factory=set)
    properties: set[str] = field(default_factory=set)

    def spread(self, nodes: Sequence[ast.AST]) -> bool:
        """Whether one pass over the module found more of them."""
        before = self._count()
        for node in nodes:
            for target, value in _bindings(node):
                if isinstance(target, ast.Name) and self.has(value):
                    self.names.add((self.scopes.get(target), target.id))
            scope = self.scopes.get(node)
            if scope and isinstance(node, ast.Return) and node.value and self.has(node.value):
                found = self.properties if scope.decorator_list else self.functions
                found.add(scope.name)
        return self._count() > before

    def _count(self) -> int:
        return len(self.names) + len(self.functions) + len(self.properties)

    def has(self, node: ast.expr) -> bool:
        """Whether the value of an expression is a sentence, or is made from one."""
        match node:
            case ast.Name(id=name):
                return name in FIELDS or (self.scopes.get(node), name) in self.names
            case ast.Attribute(attr=name):
                return name in FIELDS | self.properties
            case ast.Subscript(value=value, slice=key):
                return _is_field(key) or (not _is_text(key) and self.has(value))
            case ast.Call():
                return self._returned(node)
        return any(map(self.has, _parts(node)))

    def _returned(self, call: ast.Call) -> bool:
        name, receiver = _called(call)
        if name in RENDERERS | self.functions:
            return True
        if name == "get" and call.args and _is_field(call.args[0]):
            return True
        passed = [*call.args, *([receiver] if receiver else [])]
        return name in SAME | {"str", "next"} and any(map(self.has, passed))

    def is_read_by(self, node: ast.AST) -> bool:
        match node:
            case ast.Compare(left=left, ops=ops, comparators=others):
                identity = all(isinstance(op, ast.Is | ast.IsNot) for op in ops)
                return not identity and any(map(self.has, [left, *others]))
            case ast.Match(subject=read) | ast.Subscript(slice=read):
                return self.has(read)
            case ast.Call(args=passed):
                name, receiver = _called(node)
                if name in READS and passed and receiver and self.has(receiver):
                    return True
                return name in TAKES | KEYED and any(map(self.has, passed[:2]))
        return False


def _parts(node: ast.expr) -> list[ast.expr]:
    """What makes the value of an expression."""
    found = [getattr(node, name) for name in PARTS.get(type(node), ())]
    return [one for part in found for one in (part if isinstance(part, list) else [part])]


def _bindings(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    match node:
        case ast.Assign(targets=[target], value=value):
            yield target, value
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            yield target, value
        case ast.NamedExpr(target=target, value=value):
            yield target, value
        case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
            yield target, value


def _called(call: ast.Call) -> tuple[str, ast.expr | None]:
    """The name of what is called, and the object whose method it is."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr, call.func.value
    return (call.func.id if isinstance(call.func, ast.Name) else ""), None


def _is_field(key: ast.expr) -> bool:
    return isinstance(key, ast.Constant) and key.value in FIELDS


def _is_text(key: ast.expr) -> bool:
    return isinstance(key, ast.Constant) and isinstance(key.value, str)


def test_no_code_reads_a_sentence() -> None:
    """Not even where it is known to be ours: words may change with every release."""
    found = {
        f"{path.relative_to(ROOT)}:{function}"
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        for text in [path.read_text()]
        if MENTIONED.search(text)
        for function in readings(ast.parse(text))
    }
    assert found == set(ALLOWED)


@pytest.mark.parametrize(
    "wrong",
    [
        "role.message == 'paused'",
        "role.message.startswith('restarts: ')",
        "message(held.reason) == text",
        "'budget' in view.why.message",
        "messages.lasting(reason).partition(';')",
        "messages.blocker_text(one) != before",
        "messages.remedy(one).count('node')",
        "text = message(reason)\nif text.endswith('later'): pass",
        "if (text := job.problem) and 'quota' in text: pass",
        "text = f'{role.name}: {role.message}'\ntext == last",
        "text = '; '.join(map_of[key] for key in x if key)\ntext = role.message\ntext < 'b'",
        "re.search('quota', job.problem)",
        "_QUOTA.match(job.problem)",
        "fnmatch(role.message, '*quota*')",
        "TABLE[role.message]",
        "TABLE.get(role.message)",
        "Code(role.message)",
        "code_of(role.message.strip())",
        "match job.problem:\n    case 'x': pass",
        "condition['message'].split(':')",
        "(event.get('message') or '').lower().startswith('back-off')",
        "any('quota' in one for one in [role.message for role in job.roles])",
        "for one in [message(reason)]:\n    one.find('x')",
        "class A:\n    @property\n    def text(self):\n        return self.message\nx.text == 'a'",
        "def text(job):\n    return job.problem or ''\nis_quota = 'quota' in text(job)",
    ],
)
def test_the_search_finds(wrong: str) -> None:
    assert readings(ast.parse(wrong))


@pytest.mark.parametrize(
    "right",
    [
        "role.reason is Code.PAUSED",
        "text = message(reason) if reason else ''",
        "' '.join(role.message.split())",
        "len(entry.message) > LONGEST",
        "if job.problem: pass",
        "TABLE[role.reason]",
        "message['type'] == 'http'",
    ],
)
def test_the_search_leaves(right: str) -> None:
    assert not readings(ast.parse(right))
