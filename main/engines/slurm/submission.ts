import type { SlurmSettings } from '../../../protocol/pool.ts';
import type { LaunchAnswer, LaunchOrder } from '../../orchestrator/ports/engines.ts';
import { type ProgramResult, describeFailure } from '../run-program.ts';
import { noticeSignal, tokenVariable } from '../start-script.ts';
import { jobName } from './queue.ts';
import { hasNotReachedLogin } from './reach.ts';

/** The maximum that `--signal` accepts. */
const maxNoticeS = 65_535;

/** Returns the arguments of sbatch for a machine. Slurm counts wall time in minutes. */
export function machineArgs(
  settings: SlurmSettings,
  { nodes, gpus, wallTimeS }: Pick<LaunchOrder, 'nodes' | 'gpus' | 'wallTimeS'>,
): readonly string[] {
  const { partition, account, qos, gpu_type, constraint, cpus_per_gpu, memory_gb } = settings;
  const option = (name: string, value: string | number | null): readonly string[] =>
    value === null ? [] : [`--${name}=${value}`];
  return [
    `--nodes=${nodes}`,
    '--ntasks-per-node=1',
    `--time=${Math.ceil(wallTimeS / 60)}`,
    ...option('gres', gpus === 0 ? null : `gpu${gpu_type === null ? '' : `:${gpu_type}`}:${gpus}`),
    ...option('cpus-per-task', cpus_per_gpu === null || gpus === 0 ? null : cpus_per_gpu * gpus),
    ...option('mem', memory_gb === null ? null : `${memory_gb}G`),
    ...option('partition', partition),
    ...option('account', account),
    ...option('qos', qos),
    ...option('constraint', constraint),
  ];
}

/**
 * Returns the command that submits an order. `--export` passes only the token. `--no-requeue`: a restarted job could not join,
 * because its token is used up. `--chdir`: the orchestrator's current folder may not exist on the nodes.
 */
export const submitArgv = (fleet: string, settings: SlurmSettings, order: LaunchOrder): readonly string[] => [
  'sbatch',
  '--parsable',
  `--job-name=${jobName(fleet, order.launchId)}`,
  `--comment=trainyard:${fleet}:${order.launchId}`,
  '--no-requeue',
  `--export=${tokenVariable}`,
  `--signal=B:${noticeSignal}@${Math.min(order.noticeS, maxNoticeS)}`,
  '--chdir=/tmp',
  `--output=${settings.output ?? '/dev/null'}`,
  ...machineArgs(settings, order),
];

type Row = readonly [code: string, message: string];

/** Errors that persist until someone changes the pool or the cluster. The texts are from Slurm's src/common/slurm_errno.c. */
const permanent: readonly Row[] = [
  ['ESLURM_INVALID_PARTITION_NAME', 'Invalid partition name specified'],
  ['ESLURM_DEFAULT_PARTITION_NOT_SET', 'No partition specified or system default partition'],
  ['ESLURM_ACCESS_DENIED', 'Access/permission denied'],
  ['ESLURM_JOB_MISSING_REQUIRED_PARTITION_GROUP', "User's group not permitted to use this partition"],
  ['ESLURM_REQUESTED_NODES_NOT_IN_PARTITION', 'Requested nodes not in this partition'],
  ['ESLURM_TOO_MANY_REQUESTED_CPUS', 'More processors requested than permitted'],
  ['ESLURM_INVALID_NODE_COUNT', 'Node count specification invalid'],
  ['ESLURM_JOB_MISSING_SIZE_SPECIFICATION', 'Job size specification needs to be provided'],
  ['ESLURM_USER_ID_MISSING', 'Invalid user id'],
  ['ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE', 'Requested node configuration is not available'],
  ['ESLURM_REQUESTED_PART_CONFIG_UNAVAILABLE', 'Requested partition configuration not available now'],
  ['ESLURM_REQUESTED_TOPO_CONFIG_UNAVAILABLE', 'Requested topology configuration is not available'],
  ['ESLURM_INVALID_FEATURE', 'Invalid feature specification'],
  ['ESLURM_BATCH_CONSTRAINT', 'Job --batch option is invalid or not a subset of --constraint'],
  ['ESLURM_INVALID_TASK_MEMORY', 'Memory required by task is not available'],
  ['ESLURM_INVALID_ACCOUNT', 'Invalid account or account/partition combination specified'],
  ['ESLURM_INVALID_QOS', 'Invalid qos specification'],
  ['ESLURM_INVALID_WCKEY', 'Invalid wckey specification'],
  ['ESLURM_INVALID_TIME_LIMIT', 'Requested time limit is invalid (missing or exceeds some limit)'],
  ['ESLURM_INVALID_GRES', 'Invalid generic resource (gres) specification'],
  ['ESLURM_INVALID_GRES_TYPE', 'Invalid GRES specification (with and without type identification)'],
  ['ESLURM_UNSUPPORTED_GRES', 'Requested GRES option unsupported by configured SelectType plugin'],
  ['ESLURM_INSUFFICIENT_GRES', 'Insufficient GRES available in allocation'],
  ['ESLURM_INVALID_TRES', 'Invalid Trackable RESource (TRES) specification'],
  ['ESLURM_INVALID_CPU_COUNT', 'CPU count specification invalid'],
  ['ESLURM_BAD_TASK_COUNT', 'Task count specification invalid'],
  ['ESLURM_NOT_SUPPORTED', 'Requested operation not supported on this system'],
  ['ESLURM_PARTITION_ASSOC', 'Multiple partition job request not supported'],
  ['ESLURM_INVALID_ASSOC', 'Invalid or unknown association'],
];

/** Slurm prints the name of the limit in the line before this text. */
const policy = 'Job violates accounting/QOS policy';
const limitName = /^(?:QOS|Assoc|Max)\w+$/;

/**
 * Errors that may disappear without a change. Unknown errors count as temporary too; this list only gives the known errors their
 * codes.
 */
const temporary: readonly Row[] = [
  ['ESLURM_MAX_JOB_COUNT', 'MaxJobCount limit reached'],
  ['ESLURM_NODES_BUSY', 'Requested nodes are busy'],
  ['ESLURM_NODE_NOT_AVAIL', 'Required node not available (down, drained or reserved)'],
  ['ESLURM_PARTITION_NOT_AVAIL', 'Required partition not available (inactive or drain)'],
  ['ESLURM_PARTITION_DOWN', 'Partition in DOWN state'],
  ['ESLURM_SUBMISSIONS_DISABLED', 'System submissions disabled'],
  ['ESLURM_DISABLED', 'Requested operation is presently disabled'],
  ['ESLURM_LICENSES_UNAVAILABLE', 'Licenses currently unavailable'],
  ['ESLURM_IN_STANDBY_MODE', 'Slurm backup controller in standby mode'],
  ['ESLURM_WRITING_TO_FILE', 'I/O error writing script/environment to file'],
  ['SLURMCTLD_COMMUNICATIONS_BACKOFF', 'Rate limit exceeded, please retry momentarily'],
  ['SLURMCTLD_COMMUNICATIONS_HARD_DROP', 'Rate limit exceeded, please retry later'],
  ['SLURM_PROTOCOL_AUTHENTICATION_ERROR', 'Protocol authentication error'],
  // The command could not connect, so it sent nothing.
  ['SLURMCTLD_COMMUNICATIONS_CONNECTION_ERROR', 'Unable to contact slurm controller (connect failure)'],
  // A plugin of the cluster refused the job. The previous line contains the reason.
  ['SLURM_ERROR', 'Unspecified error'],
  // This message does not name the limit.
  ['ESLURM_ACCOUNTING_POLICY', policy],
];

/** Matches errors of a connection that broke after sbatch may have sent the job, so the job may exist. */
const lostAnswer =
  /Unable to contact slurm controller|timed out|Zero Bytes|Message (?:send|receive) failure|Unexpected message|[Cc]ommunication|zero length message|message length|entire message|Connection (?:reset|closed|forced|rejected)|Broken pipe|Input\/output error|temporarily unavailable|Interrupted system call|now in progress/;

/** Interprets the output of sbatch. Returns `rejected` only if the job certainly does not exist. */
export function readSubmission(result: ProgramResult): LaunchAnswer {
  const id = /^(\d+)(?:;\S+)?$/m.exec(result.stdout)?.[1];
  if (result.code === 0 && id !== undefined) return { kind: 'accepted', engineId: id };
  const failure = describeFailure('sbatch', result);
  if (hasNotReachedLogin(result))
    return { kind: 'rejected', scope: 'temporary', code: 'ssh', message: failure };
  if (result.code === 126 || result.code === 127)
    return { kind: 'rejected', scope: 'temporary', code: 'not_installed', message: failure };

  const lines = sbatchLines(result.stderr);
  if (result.code !== 1 || lines.length === 0) return { kind: 'unknown', message: failure };
  const message = lines.join(': ').slice(0, 500);
  const text = lines.at(-1) ?? '';
  const limit = text.startsWith(policy) ? lines.find(line => limitName.test(line)) : undefined;
  // A limit on the number of submitted jobs is temporary. A limit on the size of a job is permanent.
  if (limit !== undefined)
    return {
      kind: 'rejected',
      scope: limit.includes('Submit') ? 'temporary' : 'permanent',
      code: limit,
      message,
    };
  return classify(text, message);
}

function classify(text: string, message: string): LaunchAnswer {
  const codeIn = (rows: readonly Row[]) => rows.find(([, start]) => text.startsWith(start))?.[0];
  const permanentCode = codeIn(permanent);
  if (permanentCode !== undefined)
    return { kind: 'rejected', scope: 'permanent', code: permanentCode, message };
  const temporaryCode = codeIn(temporary);
  if (temporaryCode === undefined && lostAnswer.test(text)) return { kind: 'unknown', message };
  return { kind: 'rejected', scope: 'temporary', code: temporaryCode ?? 'refused', message };
}

/** Returns the messages of sbatch without their prefixes. Skips other lines, such as the banner of a login machine. */
export const sbatchLines = (stderr: string): readonly string[] =>
  stderr
    .split('\n')
    .flatMap(
      line =>
        /^sbatch: (?:error: |fatal: )?(?:Batch job submission failed: )?(.*\S)\s*$/.exec(line)?.[1] ?? [],
    )
    .filter(line => !/sleeping and retrying|temporarily disabled, retrying/.test(line));
