#!/bin/bash
# slurm-worker.sh [FILE]   simulates a worker on a machine of Slurm, and its trainer, which has its own session. The worker and
# the trainer append a line for each event to FILE or $REPORT. After a notice (SIGUSR1), the worker takes half a second to save,
# and then leaves.
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
