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
# The time for which `list` reports a launch after its end.
KEPT_SECONDS = 600
# `launch` writes the pid within this time.
START_SECONDS = 5


def message():
    """Reads the message of the orchestrator."""
    content = json.load(sys.stdin)
    if content["version"] != 1:
        sys.exit("expected version 1 of the messages")
    return content


def settings():
    with open(os.path.join(HERE, "settings.json"), encoding="utf-8") as file:
        return json.load(file)


def sky(*args, env=None):
    """Runs sky and returns its output. If sky fails, this program fails, so that the orchestrator changes nothing."""
    result = subprocess.run(["sky", *args], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        sys.exit(f"sky {args[0]} failed: {result.stderr.strip()[-500:]}")
    return result.stdout


def clusters():
    """Returns the clusters by name, from SkyPilot's records. Lines before the JSON are messages of SkyPilot."""
    output = sky("status", "-o", "json")
    return {cluster["name"]: cluster for cluster in json.loads(output[output.index("[") :])}


def path(name, what):
    return os.path.join(LAUNCHES, name, what)


def exit_code(name):
    """Returns the exit code of `sky launch`; None while it runs. Returns 1 if it was killed, for example by a reboot."""
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
        return 1 if time.time() - os.stat(path(name, "")).st_mtime > START_SECONDS else None


def known_launches(prefix):
    """Yields name and end time of each `sky launch` that this machine has started. The time is None while the call runs."""
    os.makedirs(LAUNCHES, mode=0o700, exist_ok=True)
    for name in sorted(os.listdir(LAUNCHES)):
        if not name.startswith(prefix):
            continue
        ended_at = os.stat(path(name, "exit")).st_mtime if os.path.exists(path(name, "exit")) else None
        yield name, ended_at


def forget(name):
    shutil.rmtree(path(name, ""), ignore_errors=True)
