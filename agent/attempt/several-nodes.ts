import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JobNode, Nodes, PreparedJob, Rendezvous } from '../job.ts';
import type { ProcessRef, Processes } from '../process/processes.ts';
import type { RunCommand } from '../process/run-command.ts';

/**
 * Returns the nodes of the Slurm allocation in which this worker runs; null for one node. The pool's batch script
 * exports the environment variables.
 */
export function nodesIn(env: Readonly<Record<string, string | undefined>>): Nodes | null {
  const count = Number(env['TRAINYARD_NODES']);
  const port = Number(env['MASTER_PORT']);
  const address = env['MASTER_ADDR'] ?? '';
  return count > 1 && port > 0 && address !== '' ? { count, address, port } : null;
}

/** Environment variables that are the same on all machines. `perNode`: the number of processes on each machine. */
const sharedVariables = ({ count, address, port }: Nodes, perNode: number): PreparedJob['env'] => ({
  MASTER_ADDR: address,
  MASTER_PORT: String(port),
  NNODES: String(count),
  WORLD_SIZE: String(count * perNode),
  TRAINYARD_PROCESSES_PER_NODE: String(perNode),
});

/** Adds values to the options of accelerate that agent/trainers/launch.ts leaves without a value. */
const withValues = (
  argv: readonly string[],
  { address, port }: Rendezvous,
  rank: number | '',
): readonly string[] => {
  const values = new Map<string, string | number>([
    ['--machine_rank=', rank],
    ['--main_process_ip=', address],
    ['--main_process_port=', port],
  ]);
  return argv.map(word => `${word}${values.get(word) ?? ''}`);
};

/** Makes a job train together with other workers, each of which starts the trainer on its own machine. */
export function onWorkers(
  job: PreparedJob,
  { rank: node, count }: JobNode,
  rendezvous: Rendezvous,
  gpusPerNode: number,
): PreparedJob {
  const perNode = Math.max(1, gpusPerNode);
  return {
    ...job,
    argv: withValues(job.argv, rendezvous, node),
    env: {
      ...job.env,
      ...sharedVariables({ ...rendezvous, count }, perNode),
      NODE_RANK: String(node),
      RANK: String(node * perNode),
    },
  };
}

/** Options of srun for a step with one task on each node. */
const stepOptions = ({ count }: Nodes): readonly string[] => [
  '--overlap',
  `--nodes=${count}`,
  `--ntasks=${count}`,
  '--ntasks-per-node=1',
  '--mpi=none',
];

const firstRankFile = 'first-rank.pid';

/**
 * A bash script that starts srun and waits for its end. srun runs in a separate session, because on SIGTERM it would kill
 * all tasks immediately. When the guard stops this script, the script sends SIGINT to srun, which passes the signal to the tasks.
 * If the guard kills this script, a watcher ends srun, which kills the tasks on all nodes. Descriptors 8 and 9 are pipes
 * for the output of the first node. The guard's own descriptors may be sockets, which no other process can open.
 */
const launcher = `rank=$1 first=$2 options=$3
shift 3
srun= stopped=
trap 'stopped=1; [ -z "$srun" ] || kill -INT "$srun" 2>/dev/null' TERM
rm -f -- "$first"
export TRAINYARD_LAUNCHER=$$
exec 8> >(trap '' TERM; exec cat) 9> >(trap '' TERM; exec cat >&2)
[ -z "$stopped" ] || exit 143
setsid srun $options \${SLURM_CPUS_PER_TASK:+--cpus-per-task=$SLURM_CPUS_PER_TASK} sh -c "$rank" "$first" "$@" </dev/null 8>&- 9>&- &
srun=$!
setsid sh -c 'while kill -0 "$1" 2>/dev/null; do sleep 0.5; done; kill -TERM "$2" 2>/dev/null' sh $$ "$srun" </dev/null >/dev/null 2>&1 8>&- 9>&- &
while wait "$srun"; kill -0 "$srun" 2>/dev/null; do :; done
wait "$srun"
exit $?
`;

/**
 * A shell script that becomes the trainer of one node. Slurm announces a preemption by SIGTERM to every process of a step. This
 * script blocks SIGTERM, because the trainer must run until it has saved. Where `env` cannot block signals, the script ignores
 * SIGTERM, but a trainer with a handler still receives it. The first node writes to the launcher's pipes directly. srun would
 * hold back the progress bars, because it passes on only complete lines.
 */
const rank = `NODE_RANK=$SLURM_NODEID RANK=$((SLURM_NODEID * TRAINYARD_PROCESSES_PER_NODE))
export NODE_RANK RANK
if [ "$NODE_RANK" = 0 ]; then
  echo $$ >"$0"
  out=/proc/$TRAINYARD_LAUNCHER/fd
  if (: >"$out/8" 2>"$out/9") 2>/dev/null; then exec >"$out/8" 2>"$out/9"; fi
fi
for word; do
  shift
  [ "$word" != --machine_rank= ] || word=--machine_rank=$NODE_RANK
  set -- "$@" "$word"
done
if env --block-signal=TERM true 2>/dev/null; then exec env --block-signal=TERM "$@"; fi
trap '' TERM
exec "$@"
`;

/** Makes a job train on all nodes of an allocation: the same command on each, with variables that identify the node. */
export function onNodes(job: PreparedJob, nodes: Nodes, gpusPerNode: number): PreparedJob {
  const perNode = Math.max(1, gpusPerNode);
  const options = [...stepOptions(nodes), '--kill-on-bad-exit=1', '--disable-status'].join(' ');
  return {
    ...job,
    argv: [
      'bash',
      '-c',
      launcher,
      'trainyard-nodes',
      rank,
      join(job.folder, firstRankFile),
      options,
      // The script adds the rank of its node.
      ...withValues(job.argv, nodes, ''),
    ],
    env: { ...job.env, ...sharedVariables(nodes, perNode) },
  };
}

/**
 * A shell script that prints the name of its node when the node cannot see the file. It tries for 5 seconds, because
 * network file systems may show a new file late.
 */
const reportBlindNode = `for _ in 1 2 3 4 5 6 7 8 9 10; do [ ! -e "$1" ] || exit 0; sleep 0.5; done; echo "$SLURMD_NODENAME"`;

/** Throws when srun fails, or when a node of the allocation cannot see the job's folder. */
export async function checkSharedFolder(
  { folder }: Pick<PreparedJob, 'folder'>,
  nodes: Nodes,
  run: RunCommand,
): Promise<void> {
  const file = join(folder, 'seen-by-all-nodes');
  writeFileSync(file, '');
  try {
    const result = await run('srun', [...stepOptions(nodes), 'sh', '-c', reportBlindNode, 'sh', file]);
    if (result.kind !== 'exited' || result.code !== 0) {
      const why = result.kind === 'exited' ? result.stderr.trim().slice(-300) : `srun: ${result.kind}`;
      throw new Error(`the ${nodes.count} nodes of the allocation cannot be used: ${why}`);
    }
    const blindNodes = result.stdout.trim().split('\n').filter(Boolean).toSorted();
    if (blindNodes.length === 0) return;
    throw new Error(
      `node ${blindNodes.join(', ')} cannot see the job's folder ${folder}. A job on several nodes needs a folder that all of them ` +
        'share: add --work-dir FOLDER to worker_options of the pool',
    );
  } finally {
    rmSync(file, { force: true });
  }
}

/** Returns the trainer's process on the first node; null for a job on one node, and before the trainer has started. */
export async function firstRankOf(
  folder: string,
  processes: Pick<Processes, 'identify'>,
): Promise<ProcessRef | null> {
  let pid: number;
  try {
    pid = Number(readFileSync(join(folder, firstRankFile), 'utf8'));
  } catch {
    return null;
  }
  return pid > 1 ? processes.identify(pid) : null;
}
