#!/bin/bash
# slurm-worker.sh [FILE]   stands for a worker on a machine of Slurm, with a trainer in a session of its own. Writes what happens to
# them to FILE or $REPORT, a line each. The worker takes half a second to save and leave.
file=${REPORT:-$1}
say() { echo "$1" >>"$file"; }
say "token ${SIMPLETUNER_WORKER_TOKEN:-${TRAINYARD_JOIN:-none}}"
say "options $*"
say "gpus ${SLURM_GPUS_ON_NODE:-0}"
say "node ${TRAINYARD_NODE_RANK:-none} of ${TRAINYARD_NODES:-none}, ${MASTER_ADDR:-none}:${MASTER_PORT:-none}"
say "folder $([ -d "${TRAINYARD_FOLDER:-}" ] && echo "$TRAINYARD_FOLDER")"
say "other ${ORCHESTRATOR_SECRET:-none}"
setsid bash -c 'trap "echo trainer signalled >>\"\$0\"" TERM USR1 INT HUP; echo trainer started >>"$0"; while :; do sleep 1 & wait $!; done' "$file" &
trainer=$!
trap 'trap "" USR1; say notice; sleep 0.5; kill -9 "$trainer"; say left; exit 0' USR1
trap 'say term; kill -9 "$trainer"; exit 143' TERM
say started
while :; do sleep 1 & wait $!; done
