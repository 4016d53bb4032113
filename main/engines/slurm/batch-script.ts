import { noticeSignal, tokenVariable } from '../start-script.ts';

/**
 * Returns the batch script of a launch. The worker runs in the batch script, not in a step, because Slurm signals all processes
 * of a step, including the trainer. The script gives the worker its notice in three cases:
 *
 * - wall time: `--signal=B:USR1@N` signals the batch shell;
 * - request to end: `scancel --batch --signal=TERM` signals the batch shell;
 * - preemption: Slurm signals only steps. So the script starts a canary step. Its output closes when the signal ends it.
 *
 * `start` is the text of main/engines/start-script.ts. It runs in a subshell, because it may exit or be replaced by the worker.
 */
export function batchScript(start: string, nodes: number): string {
  return `#!/bin/bash
# A worker of Trainyard. Its join token is in the environment.
worker= noticed=
notice() { noticed=1; [ -z "$worker" ] || kill -${noticeSignal} "$worker" 2>/dev/null; }
trap notice ${noticeSignal} TERM

# sbatch passes only the token. PATH and HOME may be missing.
export PATH="\${PATH:-/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin}"
[ -n "\${HOME:-}" ] || export HOME=~
unset SLURM_EXPORT_ENV
join=$${tokenVariable}
unset ${tokenVariable}
[ ! -r /etc/profile ] || . /etc/profile >/dev/null 2>&1 </dev/null
TRAINYARD_FOLDER=$(mktemp -d "\${TMPDIR:-/tmp}/trainyard.XXXXXX") || exit 1
export TRAINYARD_FOLDER
${nodes === 1 ? '' : severalNodes(nodes)}
# A cluster without \`srun --overlap\` has no canary, and no notice of preemption.
exec 3< <(exec srun --overlap --nodes=1 --ntasks=1 sh -c 'echo up; exec sleep infinity' 2>/dev/null </dev/null)
canary=$!

(
exec 3<&-
export ${tokenVariable}="$join"
${start.trimEnd()}
) &
worker=$!
unset join
[ -z "$noticed" ] || notice
( read -r up <&3 && { cat <&3 >/dev/null; kill -${noticeSignal} "$worker"; } ) 2>/dev/null &
watcher=$!
exec 3<&-

# A signal interrupts \`wait\`.
while wait "$worker"; kill -0 "$worker" 2>/dev/null; do :; done
wait "$worker"
code=$?
kill "$watcher" "$canary" 2>/dev/null
rm -rf -- "$TRAINYARD_FOLDER"
exit "$code"
`;
}

/** Only the first node has a worker. The trainer starts processes on the other nodes. */
const severalNodes = (nodes: number): string => `export TRAINYARD_NODES=${nodes} TRAINYARD_NODE_RANK=0
export MASTER_ADDR="\${SLURMD_NODENAME:-$(hostname)}" MASTER_PORT=$((20000 + SLURM_JOB_ID % 20000))
`;
