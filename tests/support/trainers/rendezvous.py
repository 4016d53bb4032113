"""A training on several nodes: its processes connect to each other at MASTER_ADDR:MASTER_PORT before they train.

rendezvous.py CONFIG OUTPUT [RESUME]   appends one line of JSON for each event to the file that the config names as `report`.
"""

import json
import os
import signal
import socket
import sys
import time

config = json.load(open(sys.argv[1]))
output = sys.argv[2]
rank, nodes = int(os.environ["NODE_RANK"]), int(os.environ["NNODES"])
names = ["NODE_RANK", "NNODES", "RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "SLURMD_NODENAME", "SLURM_JOB_ID"]


def record(what, **more):
    with open(config["report"], "a") as report:
        report.write(json.dumps({"what": what, "rank": rank, **more}) + "\n")


def save(*_):
    folder = os.path.join(output, "checkpoint-1")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "weights"), "w") as weights:
        weights.write("weights")
    record("saved")


def meet():
    address = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
    if rank == 0:
        with socket.create_server(address) as server:
            server.settimeout(30)
            return [server.accept()[0] for _ in range(nodes - 1)]
    for _ in range(300):
        try:
            return [socket.create_connection(address)]
        except OSError:
            time.sleep(0.1)
    sys.exit(f"no process listens on {address}")


record("started", pid=os.getpid(), resume=sys.argv[3:], **{name: os.environ.get(name) for name in names})
if rank == 0:
    signal.signal(signal.SIGUSR1, save)
peers = meet()
record("met")
end = time.monotonic() + config["seconds"]
try:
    while time.monotonic() < end and not os.path.exists(config.get("until", "")):
        if rank == 0:
            sys.stderr.write(f"step {int(end - time.monotonic())}\r")
        time.sleep(0.1)
except KeyboardInterrupt:
    record("interrupted")
    sys.exit(1)
record("trained")
