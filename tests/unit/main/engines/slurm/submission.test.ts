import { expect, it } from 'vitest';
import type { ProgramResult } from '../../../../../main/engines/run-program.ts';
import { machineArgs, readSubmission, submitArgv } from '../../../../../main/engines/slurm/submission.ts';
import { orderOf } from '../../../../support/engine-contract.ts';
import { slurmSettings } from '../../../../support/slurm-lab.ts';
import { LaunchId } from '../../../../../protocol/ids.ts';

const resultWith = (fields: Partial<ProgramResult>): ProgramResult => ({
  code: 0,
  stdout: '',
  stderr: '',
  timedOut: false,
  ...fields,
});
const readFailure = (stderr: string, code = 1) => readSubmission(resultWith({ code, stderr }));

/** Reads the output of a failed sbatch. Like sbatch, puts "Batch job submission failed" before the last of `messages`. */
function readErrors(...messages: readonly string[]) {
  const lines = [...messages.slice(0, -1), `Batch job submission failed: ${messages.at(-1)}`];
  return readFailure(lines.map(line => `sbatch: error: ${line}\n`).join(''));
}

const policy = "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)";

it.each([
  ['1234\n', '1234'],
  ['1234;cluster2\n', '1234'],
  ['Welcome to the cluster\n1234\n', '1234'],
])('reads the job id from the sbatch output %j', (stdout, engineId) => {
  expect(readSubmission(resultWith({ stdout }))).toEqual({ kind: 'accepted', engineId });
});

it.each([
  [
    ['invalid partition specified: nope', 'Invalid partition name specified'],
    'ESLURM_INVALID_PARTITION_NAME',
  ],
  [['Requested node configuration is not available'], 'ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE'],
  [['Invalid feature specification'], 'ESLURM_INVALID_FEATURE'],
  [['Invalid account or account/partition combination specified'], 'ESLURM_INVALID_ACCOUNT'],
  [['Invalid qos specification'], 'ESLURM_INVALID_QOS'],
  [['Requested time limit is invalid (missing or exceeds some limit)'], 'ESLURM_INVALID_TIME_LIMIT'],
  [['Invalid generic resource (gres) specification'], 'ESLURM_INVALID_GRES'],
  [["User's group not permitted to use this partition"], 'ESLURM_JOB_MISSING_REQUIRED_PARTITION_GROUP'],
  [['QOSMaxGRESPerJob', policy], 'QOSMaxGRESPerJob'],
])('classifies the sbatch error %j as a permanent refusal', (lines, code) => {
  expect(readErrors(...lines)).toEqual({
    kind: 'rejected',
    scope: 'permanent',
    code,
    message: lines.join(': '),
  });
});

it.each([
  [['QOSMaxSubmitJobPerUserLimit', policy], 'QOSMaxSubmitJobPerUserLimit'],
  [['AssocMaxSubmitJobLimit', policy], 'AssocMaxSubmitJobLimit'],
  [['MaxSubmitJobsPerAccount', policy], 'MaxSubmitJobsPerAccount'],
  [[policy], 'ESLURM_ACCOUNTING_POLICY'],
  [['Unable to contact slurm controller (connect failure)'], 'SLURMCTLD_COMMUNICATIONS_CONNECTION_ERROR'],
  [['System submissions disabled'], 'ESLURM_SUBMISSIONS_DISABLED'],
  [['Partition in DOWN state'], 'ESLURM_PARTITION_DOWN'],
  [['Rate limit exceeded, please retry momentarily'], 'SLURMCTLD_COMMUNICATIONS_BACKOFF'],
  [['lua: Say which project pays', 'Unspecified error'], 'SLURM_ERROR'],
  [['A refusal unknown to this version'], 'refused'],
])('classifies the sbatch error %j as a temporary refusal', (lines, code) => {
  expect(readErrors(...lines)).toEqual({
    kind: 'rejected',
    scope: 'temporary',
    code,
    message: lines.join(': '),
  });
});

it.each([
  'Socket timed out on send/recv operation',
  'Unable to contact slurm controller (receive failure)',
  'Unable to contact slurm controller (send failure)',
  'Zero Bytes were transmitted or received',
  'Message receive failure',
  'Connection timed out reading',
  'Connection reset by peer',
  'Broken pipe',
])('returns unknown after the sbatch error "%s"', text => {
  expect(readErrors(text)).toEqual({ kind: 'unknown', message: text });
});

it.each([
  ['a timeout', { code: null, timedOut: true }, /did not answer in time/],
  ['a signal', { code: 137 }, /exit code 137/],
  // Any message is allowed.
  ['success without a job id', { stdout: 'hello\n' }, /./],
  [
    'a connection that broke',
    { code: 255, stderr: 'client_loop: send disconnect: Broken pipe\n' },
    /Broken pipe/,
  ],
  ['a failure without a message', { code: 1 }, /exit code 1/],
] as const)('returns unknown when sbatch ends with %s', (_, fields, message) => {
  expect(readSubmission(resultWith(fields))).toEqual({
    kind: 'unknown',
    message: expect.stringMatching(message),
  });
});

it.each([
  ['ssh: connect to host login port 22: Connection refused', 255, 'ssh'],
  ['ssh: Could not resolve hostname login: Name or service not known', 255, 'ssh'],
  ['me@login: Permission denied (publickey).', 255, 'ssh'],
  ['Host key verification failed.', 255, 'ssh'],
  ['sh: 1: exec: sbatch: not found', 127, 'not_installed'],
  ["sbatch: unrecognized option '--no-requeue'", 1, 'refused'],
  ['sbatch: fatal: Could not establish a configuration source', 1, 'refused'],
])('returns a refusal for the error "%s", after which no job can exist', (stderr, code, expected) => {
  expect(readFailure(`${stderr}\n`, code)).toMatchObject({
    kind: 'rejected',
    scope: 'temporary',
    code: expected,
  });
});

it('ignores lines that the login shell prints around the sbatch error', () => {
  expect(
    readFailure('Welcome!\nsbatch: error: Batch job submission failed: Invalid qos specification\nBye\n'),
  ).toMatchObject({
    message: 'Invalid qos specification',
  });
});

it('passes the launch name and --no-requeue to sbatch, but no token', () => {
  const order = orderOf(LaunchId.parse('l9'), { wallTimeS: 61, noticeS: 120, joinToken: 'tj_secret' });
  const argv = submitArgv('f1', slurmSettings(), order);
  expect(argv).toEqual([
    'sbatch',
    '--parsable',
    '--job-name=trainyard-f1-l9',
    '--comment=trainyard:f1:l9',
    '--no-requeue',
    '--export=TRAINYARD_JOIN',
    '--signal=B:USR1@120',
    '--chdir=/tmp',
    '--output=/dev/null',
    '--nodes=1',
    '--ntasks-per-node=1',
    '--time=2',
  ]);
  expect(submitArgv('f1', slurmSettings(), { ...order, noticeS: 80_000 })).toContain('--signal=B:USR1@65535');
});

it('converts pool settings to sbatch options', () => {
  const settings = slurmSettings({
    partition: 'gpu,long',
    account: 'lab',
    qos: 'high',
    gpu_type: 'a100',
    constraint: 'a100-80gb',
    cpus_per_gpu: 8,
    memory_gb: 64,
  });
  expect(machineArgs(settings, { nodes: 2, gpus: 4, wallTimeS: 3_600 })).toEqual([
    '--nodes=2',
    '--ntasks-per-node=1',
    '--time=60',
    '--gres=gpu:a100:4',
    '--cpus-per-task=32',
    '--mem=64G',
    '--partition=gpu,long',
    '--account=lab',
    '--qos=high',
    '--constraint=a100-80gb',
  ]);
  expect(machineArgs(settings, { nodes: 1, gpus: 0, wallTimeS: 60 }).join(' ')).not.toMatch(/gres|cpus/);
  expect(machineArgs(slurmSettings(), { nodes: 1, gpus: 1, wallTimeS: 60 })).toContain('--gres=gpu:1');
});
