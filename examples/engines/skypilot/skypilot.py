"""Shared code of the four programs. A launch is a cluster of SkyPilot that has the name of the launch.

`sky launch` waits for the machine, which takes minutes. So it runs in the background, and its output and exit code go to
the folder `launches` beside this file.
"""

import json
import os
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
LAUNCHES = os.environ.get("TRAINYARD_SKY_LAUNCHES", os.path.join(HERE, "launches"))
KEPT_SECONDS = 600


def message():
    """The message of the orchestrator."""
    given = json.load(sys.stdin)
    if given["version"] != 1:
        sys.exit("expected version 1 of the messages")
    return given


def settings():
    with open(os.path.join(HERE, "settings.json"), encoding="utf-8") as file:
        return json.load(file)


def sky(*args, env=None):
    """Runs sky and returns its output. A failure ends this program, so that the orchestrator decides nothing."""
    done = subprocess.run(["sky", *args], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"sky {args[0]} failed: {done.stderr.strip()[-500:]}")
    return done.stdout


def clusters():
    """Clusters by name, as SkyPilot last saw them. Lines before the JSON are messages of SkyPilot."""
    printed = sky("status", "-o", "json")
    return {cluster["name"]: cluster for cluster in json.loads(printed[printed.index("[") :])}


def path(name, what):
    return os.path.join(LAUNCHES, name, what)


def exit_code(name):
    """Exit code of `sky launch`; None while it runs. It also ends with the machine that it runs on."""
    try:
        with open(path(name, "exit"), encoding="utf-8") as file:
            return int(file.read())
    except (FileNotFoundError, ValueError):
        pass
    try:
        with open(path(name, "pid"), encoding="utf-8") as file:
            os.kill(int(file.read()), 0)
        return None
    except (OSError, ValueError):
        return 1 if time.time() - os.stat(path(name, "")).st_mtime > 5 else None


def known_launches(prefix):
    """Names of launches that were started here. Old ones are forgotten."""
    os.makedirs(LAUNCHES, mode=0o700, exist_ok=True)
    for name in sorted(os.listdir(LAUNCHES)):
        if not name.startswith(prefix):
            continue
        ended_at = os.stat(path(name, "exit")).st_mtime if os.path.exists(path(name, "exit")) else None
        yield name, ended_at


def forget(name):
    shutil.rmtree(path(name, ""), ignore_errors=True)
