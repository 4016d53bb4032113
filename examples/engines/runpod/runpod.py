"""Shared code of the four programs: RunPod's REST API, with the key from RUNPOD_API_KEY or the file `api-key` beside this one."""

import json
import os
import sys
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
URL = os.environ.get("RUNPOD_URL", "https://rest.runpod.io/v1")


def message():
    """Reads the message of the orchestrator."""
    content = json.load(sys.stdin)
    if content["version"] != 1:
        sys.exit("expected version 1 of the messages")
    return content


def settings():
    with open(os.path.join(HERE, "settings.json"), encoding="utf-8") as file:
        return json.load(file)


def api_key():
    key = os.environ.get("RUNPOD_API_KEY")
    if key:
        return key
    with open(os.path.join(HERE, "api-key"), encoding="utf-8") as file:
        return file.read().strip()


def call(method, path, body=None):
    """Returns status and JSON. After a failed connection, this program fails, so that the orchestrator changes nothing."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"authorization": f"Bearer {api_key()}", "content-type": "application/json"}
    request = urllib.request.Request(URL + path, data=data, method=method, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            status, text = response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        status, text = error.code, error.read().decode(errors="replace")
    except OSError as error:
        sys.exit(f"RunPod does not answer: {error}")
    try:
        return status, json.loads(text)
    except ValueError:
        return status, text


def pods(prefix):
    """Returns the pods whose names begin with `prefix`."""
    status, reply = call("GET", "/pods")
    if status != 200:
        sys.exit(f"RunPod answered {status}: {error_text(reply)}")
    return [pod for pod in reply if (pod.get("name") or "").startswith(prefix)]


def error_text(reply):
    if isinstance(reply, dict):
        reply = reply.get("detail") or reply.get("error") or reply.get("message") or reply
    return str(reply)[:300]
