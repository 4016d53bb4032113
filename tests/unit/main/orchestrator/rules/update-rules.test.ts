import { describe, expect, test } from 'vitest';
import type { AgentFacts, ProgramUpdate, Worker } from '../../../../../main/orchestrator/model.ts';
import {
  isUnderWay,
  isUpdateAvailable,
  planUpdates,
  takesNoJobs,
  updateLimitMs,
  updateRefusal,
  type UpdatingWorker,
} from '../../../../../main/orchestrator/rules/update-rules.ts';
import { updateText } from '../../../../../main/orchestrator/rules/update-texts.ts';
import { WorkerId } from '../../../../../protocol/ids.ts';
import { UpdateId, UpdateRefusal, UpdateState } from '../../../../../protocol/worker-update.ts';
import { makeAgent, makeUpdate, makeWorker } from '../builders.ts';

const programName = 'trainyard-worker.mjs';
const [oldHash, newHash] = ['a'.repeat(64), 'b'.repeat(64)];
const offered = { version: '1.1.0', programs: [{ name: programName, sha256: newHash }] } as const;
const program = { name: programName, sha256: oldHash, blocked: null, trial: false } as const;

const makeRig = (agent: Partial<AgentFacts> | null, changes: Partial<Worker> = {}): Worker =>
  makeWorker({
    ...changes,
    agent: agent === null ? null : makeAgent({ protocol: 2, agentVersion: '1.0.0', program, ...agent }),
  });

describe('refusal of an update', () => {
  test.each([
    ['local', makeRig({}, { local: true })],
    ['never_registered', makeRig(null)],
    ['published_agent', makeRig({ protocol: 1 })],
    ['newer', makeRig({ agentVersion: '2.0.0' })],
    ['too_old', makeRig({ program: null })],
    ['current', makeRig({ agentVersion: '1.1.0', program: { ...program, sha256: newHash, blocked: 'off' } })],
    ['off', makeRig({ program: { ...program, blocked: 'off' } })],
    ['container', makeRig({ program: { ...program, blocked: 'container' } })],
    ['not_built', makeRig({ program: { ...program, name: 'trainyard-worker-linux-x64' } })],
    [null, makeRig({})],
    [null, makeRig({ agentVersion: null })],
  ] as const)('returns %s as the reason to refuse the update of a worker (case %#)', (refusal, subject) => {
    expect(updateRefusal(subject, offered)).toBe(refusal);
  });

  test('accepts the update of any worker program before the offered programs have been read', () => {
    expect(updateRefusal(makeRig({}), { version: '1.1.0', programs: null })).toBeNull();
  });

  test('has a sentence for each refusal code, and for an accepted update', () => {
    for (const code of UpdateRefusal.options) expect(updateText(code, '1.1.0')).toMatch(/^It|^Its|^The/);
    expect(updateText(null, '1.1.0')).toBe('It will be updated to 1.1.0');
  });
});

describe('isUpdateAvailable', () => {
  test.each([
    ['an older version', true, makeRig({})],
    ['an older version without a known program', true, makeRig({ program: null })],
    ['another build of the same version', true, makeRig({ agentVersion: '1.1.0' })],
    ['the same build', false, makeRig({ agentVersion: '1.1.0', program: { ...program, sha256: newHash } })],
    ['an unknown program of the same version', false, makeRig({ agentVersion: '1.1.0', program: null })],
    [
      'a program that is not built',
      false,
      makeRig({ agentVersion: '1.1.0', program: { ...program, name: null } }),
    ],
    ['a newer version', false, makeRig({ agentVersion: '2.0.0' })],
    ['no version', false, makeRig({ agentVersion: null })],
    ["SimpleTuner's own worker", false, makeRig({ protocol: 1 })],
    ["the server's own worker", false, makeRig({}, { local: true })],
    ['a worker that never registered', false, makeRig(null)],
  ] as const)('decides whether an update is available for %s: %s', (_case, expected, subject) => {
    expect(isUpdateAvailable(subject, offered)).toBe(expected);
  });
});

const makeUpdating = (
  id: string,
  update: Partial<ProgramUpdate> = {},
  changes: Partial<UpdatingWorker> = {},
): UpdatingWorker => ({
  id: WorkerId.parse(id),
  name: id,
  update: makeUpdate(update),
  isBusy: false,
  isOffline: false,
  ...changes,
});

// Returns the planned actions as text.
const planActions = (workers: readonly UpdatingWorker[], now = 0) =>
  planUpdates(workers, now).map(({ kind, id }) => `${kind} ${id}`);

const states = UpdateState.options;

describe('plan of updates', () => {
  test('starts as many updates as workers may restart at the same time', () => {
    expect(planActions([makeUpdating('a'), makeUpdating('b')])).toEqual(['start a']);
    expect(planActions([makeUpdating('a', { atOnce: 2 }), makeUpdating('b', { atOnce: 2 })])).toEqual([
      'start a',
      'start b',
    ]);
    expect(planActions([makeUpdating('a', { state: 'restarting' }), makeUpdating('b')])).toEqual([]);
  });

  test('lets a busy worker finish its job, and starts the update of idle workers first', () => {
    expect(planActions([makeUpdating('a', {}, { isBusy: true }), makeUpdating('b')])).toEqual([
      'wait a',
      'start b',
    ]);
    expect(planActions([makeUpdating('a', { state: 'waiting' }, { isBusy: true })])).toEqual([]);
  });

  test('starts the update of a worker that has waited for its job before workers that still take jobs', () => {
    expect(planActions([makeUpdating('a'), makeUpdating('b', { state: 'waiting' })])).toEqual(['start b']);
  });

  test('starts the update of a busy worker immediately when the request says "now"', () => {
    expect(planActions([makeUpdating('a', { when: 'now' }, { isBusy: true })])).toEqual(['start a']);
  });

  test('stops the remaining updates of a request after a failure, but no updates of another request', () => {
    const otherRequest = makeUpdating('c', { request: UpdateId.parse('u_other') });
    const plan = planUpdates([makeUpdating('a', { state: 'failed' }), makeUpdating('b'), otherRequest], 0);
    expect(plan).toEqual([
      { kind: 'stop', id: 'b', reason: 'The update of a failed' },
      { kind: 'start', id: 'c' },
    ]);
  });

  test('stops the update of a worker that is offline at its turn', () => {
    expect(planActions([makeUpdating('a', {}, { isOffline: true }), makeUpdating('b')])).toEqual([
      'stop a',
      'start b',
    ]);
  });

  test('fails an update whose worker goes offline, or that takes too long', () => {
    const active = { state: 'downloading', startedAt: 0 } as const;
    expect(planActions([makeUpdating('a', active, { isOffline: true }), makeUpdating('b')])).toEqual([
      'fail a',
      'stop b',
    ]);
    expect(planActions([makeUpdating('a', active)], updateLimitMs - 1)).toEqual([]);
    expect(planActions([makeUpdating('a', active)], updateLimitMs)).toEqual(['fail a']);
    expect(planActions([makeUpdating('a', { ...active, startedAt: null })], updateLimitMs)).toEqual([]);
  });

  test('treats an update as under way until the update has failed or was stopped', () => {
    expect(states.filter(state => isUnderWay(makeUpdate({ state })))).toEqual(states.slice(0, 4));
  });

  test('dispatches no job to a worker while its update waits for a job, downloads or restarts', () => {
    expect(takesNoJobs(null)).toBe(false);
    expect(takesNoJobs(undefined)).toBe(false);
    expect(states.filter(state => takesNoJobs(makeUpdate({ state })))).toEqual([
      'waiting',
      'downloading',
      'restarting',
    ]);
  });
});
