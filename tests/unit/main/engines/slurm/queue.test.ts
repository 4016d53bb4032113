import { describe, expect, it } from 'vitest';
import { mergeByLaunch, parseQueue, squeueArgv } from '../../../../../main/engines/slurm/queue.ts';
import { reasonKind } from '../../../../../main/engines/slurm/reasons.ts';

const queueLine = (fields: {
  name?: string;
  id?: string;
  state?: string;
  reason?: string;
  start?: string;
  end?: string;
  nodes?: string;
}): string => {
  const { name = 'trainyard-f1-l1', id = '7', state = 'RUNNING', reason = 'None' } = fields;
  const { start = '1700000000', end = '1700003600', nodes = 'rig1' } = fields;
  return `${[name, id, state, reason, start, end, nodes].join('\u001F')}\n`;
};
const parseLines = (...lines: readonly string[]) => mergeByLaunch(parseQueue('f1', lines.join('')));
const parseOne = (fields: Parameters<typeof queueLine>[0]) => [...parseLines(queueLine(fields)).values()][0];

describe('list of Slurm jobs', () => {
  it('returns the times, the machines and the id of a running launch', () => {
    expect(parseOne({ nodes: 'rig[1-2]' })).toEqual({
      engineId: '7',
      state: 'running',
      reason: null,
      expectedStart: null,
      startedAt: 1_700_000_000_000,
      endsAt: 1_700_003_600_000,
      nodes: ['rig1', 'rig2'],
      exit: null,
    });
  });

  it('returns the reason and the expected start of a waiting launch', () => {
    expect(parseOne({ state: 'PENDING', reason: 'Resources', nodes: '' })).toMatchObject({
      state: 'waiting',
      reason: { kind: 'resources', text: 'Resources' },
      expectedStart: 1_700_000_000_000,
      startedAt: null,
      endsAt: null,
      nodes: [],
    });
    expect(parseOne({ state: 'PENDING', reason: 'None', start: 'N/A', end: 'N/A', nodes: '' })).toMatchObject(
      {
        reason: null,
        expectedStart: null,
      },
    );
  });

  it.each([
    ['PENDING', '', 'waiting', null],
    ['CONFIGURING', 'rig1', 'waiting', null],
    ['REQUEUE_HOLD', '', 'waiting', null],
    ['RUNNING', 'rig1', 'running', null],
    ['COMPLETING', 'rig1', 'running', null],
    ['SUSPENDED', 'rig1', 'running', null],
    ['COMPLETED', 'rig1', 'ended', 'completed'],
    ['CANCELLED', '', 'ended', 'cancelled'],
    ['FAILED', 'rig1', 'ended', 'failed'],
    ['OUT_OF_MEMORY', 'rig1', 'ended', 'failed'],
    ['TIMEOUT', 'rig1', 'ended', 'timeout'],
    ['DEADLINE', '', 'ended', 'timeout'],
    ['NODE_FAIL', 'rig1', 'ended', 'node_failed'],
    ['BOOT_FAIL', 'rig1', 'ended', 'node_failed'],
    ['PREEMPTED', 'rig1', 'ended', 'preempted'],
    ['REVOKED', '', 'ended', null],
    ['UNKNOWN_STATE', 'rig1', 'running', null],
    ['UNKNOWN_STATE', '', 'waiting', null],
  ])('reads the Slurm state %s on the nodes "%s" as %s', (state, nodes, expected, exit) => {
    expect(parseOne({ state, nodes })).toMatchObject({ state: expected, exit });
  });

  it('reports that the nodes of a waiting launch are starting', () => {
    expect(parseOne({ state: 'CONFIGURING' })).toMatchObject({
      reason: { kind: 'resources', text: 'CONFIGURING' },
    });
  });

  it('returns no start for a launch that was cancelled while it waited', () => {
    expect(parseOne({ state: 'CANCELLED', nodes: '' })).toMatchObject({ startedAt: null, nodes: [] });
  });

  it('omits jobs of other fleets, unrelated jobs, and refused orders', () => {
    const otherNames = ['trainyard-f12-l1', 'trainyard-f1-two-l1', 'training', 'trainyard-f2-l1'];
    expect(parseLines(...otherNames.map(name => queueLine({ name })))).toEqual(new Map());
    expect(parseLines('odd\u001Fline\n', queueLine({ state: 'FAILED', nodes: '' }))).toEqual(new Map());
    expect(parseLines('')).toEqual(new Map());
  });

  const completeLine = queueLine({});
  it.each([
    completeLine.slice(0, -1),
    'trainyard-f1-l1\n',
    completeLine.replace('\u001Frig1', ''),
    completeLine.replace('rig1', 'rig1\u001Fmore'),
    queueLine({ id: 'x' }),
    queueLine({ name: 'trainyard-f1-BAD' }),
  ])('throws for the truncated or unreadable squeue output %j', broken => {
    expect(() => parseLines(broken)).toThrow(/squeue printed/);
  });

  it('prefers a running job, then the newest job, when several jobs have the same name', () => {
    const ids = (...states: readonly (readonly [id: string, state: string])[]) =>
      [...parseLines(...states.map(([id, state]) => queueLine({ id, state }))).values()].map(
        ({ engineId }) => engineId,
      );
    expect(ids(['9', 'COMPLETED'], ['7', 'RUNNING'], ['8', 'PENDING'])).toEqual(['7']);
    expect(ids(['9', 'COMPLETED'], ['8', 'PENDING'])).toEqual(['8']);
    expect(ids(['9', 'COMPLETED'], ['10', 'COMPLETED'])).toEqual(['10']);
  });

  it.each([
    ['rig1', ['rig1']],
    ['rig[1-3,7],login', ['rig1', 'rig2', 'rig3', 'rig7', 'login']],
    ['n[08-10]', ['n08', 'n09', 'n10']],
    ['r[1-2]n[1-2]', ['r1n1', 'r1n2', 'r2n1', 'r2n2']],
    ['gpu[1]-ib', ['gpu1-ib']],
    ['', []],
  ])('expands the node list "%s"', (nodes, expected) => {
    expect(parseOne({ nodes })?.nodes).toEqual(expected);
  });

  it('requests ended jobs and jobs in hidden partitions from squeue', () => {
    expect(squeueArgv).toEqual(expect.arrayContaining(['--me', '--all', '--states=all', '--noheader']));
  });
});

it.each([
  ['Resources', 'resources'],
  ['Priority', 'resources'],
  ['ReqNodeNotAvail, UnavailableNodes:rig1', 'resources'],
  [
    'Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions',
    'resources',
  ],
  ['PartitionDown', 'resources'],
  ['QOSMaxJobsPerUserLimit', 'quota'],
  ['QOSGrpGRES', 'quota'],
  ['AssocGrpCPUMinutesLimit', 'quota'],
  ['AssociationJobLimit', 'quota'],
  ['MaxGRESPerAccount', 'quota'],
  ['MaxGRESRunMinsPerUser', 'quota'],
  ['PartitionTimeLimit', 'quota'],
  ['JobHeldUser', 'held'],
  ['JobHeldAdmin', 'held'],
  ['BeginTime', 'held'],
  ['launch failed requeued held', 'held'],
  ['Dependency', 'dependency'],
  ['DependencyNeverSatisfied', 'dependency'],
  ['QOSNotAllowed', 'other'],
  ['BadConstraints', 'other'],
  ['InvalidAccount', 'other'],
  ['a reason unknown to this version', 'other'],
])('classifies the Slurm reason "%s" as %s', (reason, kind) => {
  expect(reasonKind(reason)).toBe(kind);
});
