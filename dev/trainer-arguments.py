"""Writes trainers/arguments/NAME.json: the config keys of a trainer with their kinds and choices, from its source code.

    python dev/trainer-arguments.py simpletuner CHECKOUT > trainers/arguments/simpletuner.json

The panel completes and checks configs with these lists. Warnings of the server use the lists that rigs report instead,
because those come from the installed version.
"""

import ast
import json
import os
import re
import sys

trainer, checkout = sys.argv[1], sys.argv[2]
# Maps each key to its kind, or to the list of its choices.
keys = {}


def nodes(*paths):
    """Yields all syntax tree nodes of the Python files at these paths in the checkout. Paths may be folders."""
    for relative_path in paths:
        path = os.path.join(checkout, relative_path)
        files = [path] if os.path.isfile(path) else sorted(
            os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names if name.endswith(".py")
        )
        for file in files:
            with open(file, encoding="utf-8") as source:
                try:
                    tree = ast.parse(source.read())
                except SyntaxError:
                    continue
            yield from ast.walk(tree)


def text(node):
    """Returns the value of a string literal; None for other nodes."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def is_name(word):
    return word is not None and re.fullmatch(r"[a-z][a-z0-9_]*", word) is not None


def literal(node):
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return None


def add_key(key, kind, choices=None):
    """Adds a key. Of several definitions, the more precise one counts."""
    if key is None or key.startswith("_"):
        return
    values = [str(choice) for choice in choices or [] if choice not in (None, "")]
    if values:
        keys[key] = values
    elif keys.get(key, "any") == "any":
        keys[key] = kind


def add_arguments(*paths):
    """Adds the arguments that the files define with argparse."""
    kinds = {"int": "integer", "float": "number", "str": "text"}
    for node in nodes(*paths):
        if not (isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "add_argument"):
            continue
        keywords = {keyword.arg: keyword.value for keyword in node.keywords}
        options = [text(keywords["dest"])] if "dest" in keywords else [text(argument) for argument in node.args]
        action = text(keywords["action"]) if "action" in keywords else None
        kind = "boolean" if action in ("store_true", "store_false") else kinds.get(
            getattr(keywords.get("type"), "id", ""), "any" if "type" in keywords or "nargs" in keywords else "text"
        )
        for option in options:
            if option and (option.startswith("--") or "dest" in keywords):
                add_key(option.lstrip("-").replace("-", "_"), "any" if "nargs" in keywords else kind, literal(keywords.get("choices")))


def simpletuner():
    kinds = {"NUMBER": "number", "CHECKBOX": "boolean", "TEXT": "text", "SELECT": "text"}
    base = "simpletuner/simpletuner_sdk/server/services/field_registry"
    for node in nodes(base, "simpletuner/helpers/models/field_registry"):
        if not (isinstance(node, ast.Call) and getattr(node.func, "id", "") == "ConfigField"):
            continue
        keywords = {keyword.arg: keyword.value for keyword in node.keywords}
        choices_node = keywords.get("choices")
        entries = getattr(choices_node, "elts", [])
        choices = [
            literal(value)
            for entry in entries
            if isinstance(entry, ast.Dict)
            for key, value in zip(entry.keys, entry.values)
            if text(key) == "value"
        ]
        kind = kinds.get(getattr(keywords.get("field_type"), "attr", ""), "any")
        # If the trainer computes some choices, the list is incomplete and must not restrict the values.
        complete = choices if choices_node is not None and len(choices) == len(entries) else []
        names = [text(keywords["name"]), *(literal(keywords.get("aliases")) or [])]
        argument = literal(keywords.get("arg_name"))
        names += argument if isinstance(argument, (list, tuple)) else [argument]
        for key in filter(None, names):
            add_key(key.lstrip("-"), kind, complete)

    # Some options are registered in loops over tuples of names.
    for node in nodes(base, "simpletuner/helpers/models/field_registry"):
        if isinstance(node, ast.Tuple):
            for key in filter(None, map(text, node.elts)):
                if is_name(key) and "_" in key:
                    add_key(key, "any")
    for node in nodes("simpletuner/helpers/configuration/env_file.py"):
        if (text(node) or "").startswith("--"):
            add_key(text(node).lstrip("-"), "any")
    for number in range(1, 5):
        add_key(f"text_encoder_{number}_precision", "text")


def ai_toolkit():
    for node in nodes("toolkit/config.py", "toolkit/config_modules.py", "jobs", "extensions_built_in"):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in ("get", "get_conf") and node.args:
            # Do not derive the kind from the default: `neg` is a text, but its default is False.
            key = text(node.args[0])
            add_key(key if is_name(key) else None, "any")
        elif isinstance(node, ast.Subscript) and is_name(text(node.slice)):
            add_key(text(node.slice), "any")


def onetrainer():
    enums = {}
    for node in nodes("modules/util/enum"):
        if isinstance(node, ast.ClassDef):
            members = [
                statement.targets[0].id
                for statement in node.body
                if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
            ]
            enums[node.name] = [member for member in members if member.isupper()]
    kinds = {"int": "integer", "float": "number", "str": "text", "bool": "boolean"}
    keys["__version"] = "integer"
    for node in nodes("modules/util/config"):
        if isinstance(node, ast.ClassDef) and node.name != "SecretsConfig":
            for statement in node.body:
                if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                    kind = getattr(statement.annotation, "id", "")
                    add_key(statement.target.id, kinds.get(kind, "any"), enums.get(kind))


readers = {
    "simpletuner": simpletuner,
    "ai-toolkit": ai_toolkit,
    "kohya": lambda: add_arguments("library", *sorted(name for name in os.listdir(checkout) if "train" in name and name.endswith(".py"))),
    "onetrainer": onetrainer,
}
readers[trainer]()
print("{")
print(",\n".join(f"  {json.dumps(key)}: {json.dumps(keys[key])}" for key in sorted(keys)))
print("}")
