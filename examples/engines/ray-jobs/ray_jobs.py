"""Shared code of the four programs: the Ray Jobs API of the cluster in RAY_API_SERVER_ADDRESS."""

import json
import os
import sys
import urllib.error
import urllib.request

URL = os.environ.get("RAY_API_SERVER_ADDRESS", "http://127.0.0.1:8265").rstrip("/")


def message():
    """Reads the message of the orchestrator."""
    content = json.load(sys.stdin)
    if content["version"] != 1:
        sys.exit("expected version 1 of the messages")
    return content


def call(method, path, body=None):
    """Returns status and text. After a failed connection, this program fails, so that the orchestrator changes nothing."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"content-type": "application/json"}
    token = os.environ.get("RAY_AUTH_TOKEN")
    if token:
        headers["authorization"] = f"Bearer {token}"
    request = urllib.request.Request(URL + path, data=data, method=method, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode(errors="replace")
    except OSError as error:
        sys.exit(f"Ray does not answer: {error}")


def demand(method, path):
    """Returns the JSON of the response. This program fails if the status is not 200."""
    status, text = call(method, path)
    if status != 200:
        sys.exit(f"Ray answered {status}: {last_line(text)}")
    return json.loads(text)


def last_line(text):
    """Returns the error of a response: the last line of its traceback."""
    return (text.strip().splitlines() or [""])[-1][:300]
