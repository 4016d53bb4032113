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

name, top = sys.argv[1], sys.argv[2]
found = {}


def nodes(*places):
    for place in places:
        path = os.path.join(top, place)
        files = [path] if os.path.isfile(path) else sorted(
            os.path.join(at, each) for at, _, names in os.walk(path) for each in names if each.endswith(".py")
        )
        for file in files:
            with open(file, encoding="utf-8") as source:
                try:
                    tree = ast.parse(source.read())
                except SyntaxError:
                    continue
            yield from ast.walk(tree)


def text(node):
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def is_name(word):
    return word is not None and re.fullmatch(r"[a-z][a-z0-9_]*", word) is not None


def literal(node):
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return None


def note(key, kind, choices=None):
    """Keeps the more precise of two definitions of a key."""
    if key is None or key.startswith("_"):
        return
    words = [str(each) for each in choices or [] if each not in (None, "")]
    if words:
        found[key] = words
    elif found.get(key, "any") == "any":
        found[key] = kind


def arguments(*places):
    """Arguments of argparse."""
    kinds = {"int": "integer", "float": "number", "str": "text"}
    for node in nodes(*places):
        if not (isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "add_argument"):
            continue
        words = {word.arg: word.value for word in node.keywords}
        options = [text(words["dest"])] if "dest" in words else [text(each) for each in node.args]
        action = text(words["action"]) if "action" in words else None
        kind = "boolean" if action in ("store_true", "store_false") else kinds.get(
            getattr(words.get("type"), "id", ""), "any" if "type" in words or "nargs" in words else "text"
        )
        for option in options:
            if option and (option.startswith("--") or "dest" in words):
                note(option.lstrip("-").replace("-", "_"), "any" if "nargs" in words else kind, literal(words.get("choices")))


def simpletuner():
    kinds = {"NUMBER": "number", "CHECKBOX": "boolean", "TEXT": "text", "SELECT": "text"}
    base = "simpletuner/simpletuner_sdk/server/services/field_registry"
    for node in nodes(base, "simpletuner/helpers/models/field_registry"):
        if not (isinstance(node, ast.Call) and getattr(node.func, "id", "") == "ConfigField"):
            continue
        words = {word.arg: word.value for word in node.keywords}
        listed = words.get("choices")
        choices = [
            literal(value)
            for entry in getattr(listed, "elts", [])
            if isinstance(entry, ast.Dict)
            for key, value in zip(entry.keys, entry.values)
            if text(key) == "value"
        ]
        kind = kinds.get(getattr(words.get("field_type"), "attr", ""), "any")
        # A list that the trainer computes restricts nothing here.
        complete = choices if listed is not None and len(choices) == len(getattr(listed, "elts", [])) else []
        names = [text(words["name"]), *(literal(words.get("aliases")) or [])]
        argument = literal(words.get("arg_name"))
        names += argument if isinstance(argument, (list, tuple)) else [argument]
        for each in names:
            if each:
                note(each.lstrip("-"), kind, complete)


    # Some options are registered in loops, from tuples with their names.
    for node in nodes(base, "simpletuner/helpers/models/field_registry"):
        if isinstance(node, ast.Tuple):
            for each in filter(None, map(text, node.elts)):
                if is_name(each) and "_" in each:
                    note(each, "any")
    for node in nodes("simpletuner/helpers/configuration/env_file.py"):
        if (text(node) or "").startswith("--"):
            note(text(node).lstrip("-"), "any")
    for number in range(1, 5):
        note(f"text_encoder_{number}_precision", "text")


def ai_toolkit():
    for node in nodes("toolkit/config.py", "toolkit/config_modules.py", "jobs", "extensions_built_in"):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in ("get", "get_conf") and node.args:
            # Defaults say too little about the kind: `neg` is a text with the default False.
            key = text(node.args[0])
            note(key if is_name(key) else None, "any")
        elif isinstance(node, ast.Subscript) and is_name(text(node.slice)):
            note(text(node.slice), "any")


def onetrainer():
    enums = {}
    for node in nodes("modules/util/enum"):
        if isinstance(node, ast.ClassDef):
            members = [
                each.targets[0].id
                for each in node.body
                if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name)
            ]
            enums[node.name] = [each for each in members if each.isupper()]
    kinds = {"int": "integer", "float": "number", "str": "text", "bool": "boolean"}
    found["__version"] = "integer"
    for node in nodes("modules/util/config"):
        if isinstance(node, ast.ClassDef) and node.name != "SecretsConfig":
            for each in node.body:
                if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
                    kind = getattr(each.annotation, "id", "")
                    note(each.target.id, kinds.get(kind, "any"), enums.get(kind))


programs = {
    "simpletuner": simpletuner,
    "ai-toolkit": ai_toolkit,
    "kohya": lambda: arguments("library", *sorted(each for each in os.listdir(top) if "train" in each and each.endswith(".py"))),
    "onetrainer": onetrainer,
}
programs[name]()
print("{")
print(",\n".join(f"  {json.dumps(key)}: {json.dumps(found[key])}" for key in sorted(found)))
print("}")
