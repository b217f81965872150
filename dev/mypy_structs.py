"""A mypy plugin that checks the keyword arguments with which structs are copied.

It covers `msgspec.structs.replace`, whose own signature accepts anything, `Role.changed`, which
accepts the fields of a role and of its parts, and `role_record.recorded` with those of a record.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, cast

from mypy.expandtype import expand_type_by_instance
from mypy.nodes import ARG_NAMED_OPT, ARG_POS, TypeInfo
from mypy.plugin import FunctionSigContext, MethodSigContext, Plugin
from mypy.types import (
    CallableType,
    FunctionLike,
    Instance,
    NoneType,
    Type,
    TypeVarType,
    UnionType,
    get_proper_type,
)

if TYPE_CHECKING:
    from mypy.checker import TypeChecker

_REPLACE = "msgspec.structs.replace"
_CHANGED = "edl.model.roles.Role.changed"
_RECORDED = "edl.annotations.role_record.recorded"
_PARTS = ("spec", "template", "status", "request", "record")


class StructPlugin(Plugin):
    """Gives mypy the signatures of these functions."""

    def get_function_signature_hook(
        self, fullname: str
    ) -> Callable[[FunctionSigContext], FunctionLike] | None:
        return {_REPLACE: _replace, _RECORDED: _recorded}.get(fullname)

    def get_method_signature_hook(
        self, fullname: str
    ) -> Callable[[MethodSigContext], FunctionLike] | None:
        return _changed if fullname == _CHANGED else None


def _replace(ctx: FunctionSigContext) -> FunctionLike:
    if not ctx.args or len(ctx.args[0]) != 1:
        return ctx.default_signature
    struct = ctx.api.get_expression_type(ctx.args[0][0])
    found = get_proper_type(struct)
    if isinstance(found, TypeVarType):
        found = get_proper_type(found.upper_bound)
    if not isinstance(found, Instance) or "__init__" not in found.type.names:
        return ctx.default_signature
    return _signature(ctx.default_signature, dict(_fields(found)), struct)


def _recorded(ctx: FunctionSigContext) -> FunctionLike:
    record = cast("TypeChecker", ctx.api).modules["edl.model.roles"].names["RoleRecord"].node
    if not isinstance(record, TypeInfo):
        return ctx.default_signature
    fields: dict[str, Type] = {
        name: UnionType.make_union([kind, NoneType()])
        for name, kind in _fields(Instance(record, []))
    }
    return _signature(ctx.default_signature, fields, None)


def _changed(ctx: MethodSigContext) -> FunctionLike:
    role = get_proper_type(ctx.type)
    if not isinstance(role, Instance):
        return ctx.default_signature
    fields = dict(_fields(role))
    for part in _PARTS:
        struct = get_proper_type(fields.pop(part))
        if isinstance(struct, Instance):
            fields |= dict(_fields(struct))
    return _signature(ctx.default_signature, fields, None)


def _fields(struct: Instance) -> Iterator[tuple[str, Type]]:
    """The fields of a struct with their types, from its constructor's signature."""
    method = struct.type.get_method("__init__")
    init = get_proper_type(method.type if method else None)
    if isinstance(init, CallableType):
        for name, kind in zip(init.arg_names[1:], init.arg_types[1:], strict=True):
            if name:
                yield name, expand_type_by_instance(kind, struct)


def _signature(own: CallableType, fields: dict[str, Type], struct: Type | None) -> CallableType:
    """`own` with these fields as optional keyword arguments; `struct` is the copied type."""
    first: list[Type] = [struct] if struct else []
    return own.copy_modified(
        arg_types=[*first, *fields.values()],
        arg_kinds=[ARG_POS] * len(first) + [ARG_NAMED_OPT] * len(fields),
        arg_names=[*([None] * len(first)), *fields],
        ret_type=struct or own.ret_type,
        variables=[],
    )


def plugin(_: str) -> type[Plugin]:
    """The entry point, which mypy calls."""
    return StructPlugin
