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

const name = 'trainyard-worker.mjs';
const [oldSum, newSum] = ['a'.repeat(64), 'b'.repeat(64)];
const offered = { version: '1.1.0', programs: [{ name, sha256: newSum }] } as const;
const program = { name, sha256: oldSum, blocked: null, trial: false } as const;

const rig = (agent: Partial<AgentFacts> | null, more: Partial<Worker> = {}): Worker =>
  makeWorker({
    ...more,
    agent: agent === null ? null : makeAgent({ protocol: 2, agentVersion: '1.0.0', program, ...agent }),
  });

describe('refusal of an update', () => {
  test.each([
    ['local', rig({}, { local: true })],
    ['never_registered', rig(null)],
    ['published_agent', rig({ protocol: 1 })],
    ['newer', rig({ agentVersion: '2.0.0' })],
    ['too_old', rig({ program: null })],
    ['current', rig({ agentVersion: '1.1.0', program: { ...program, sha256: newSum, blocked: 'off' } })],
    ['off', rig({ program: { ...program, blocked: 'off' } })],
    ['container', rig({ program: { ...program, blocked: 'container' } })],
    ['not_built', rig({ program: { ...program, name: 'trainyard-worker-linux-x64' } })],
    [null, rig({})],
    [null, rig({ agentVersion: null })],
  ] as const)('is %s', (refusal, subject) => {
    expect(updateRefusal(subject, offered)).toBe(refusal);
  });

  test('has a sentence for each code, and one for success', () => {
    for (const code of UpdateRefusal.options) expect(updateText(code, '1.1.0')).toMatch(/^It|^Its|^The/);
    expect(updateText(null, '1.1.0')).toBe('It will be updated to 1.1.0');
  });
});

describe('an available update', () => {
  test.each([
    ['an older version', true, rig({})],
    ['an older version without a known program', true, rig({ program: null })],
    ['another build of the same version', true, rig({ agentVersion: '1.1.0' })],
    ['the same build', false, rig({ agentVersion: '1.1.0', program: { ...program, sha256: newSum } })],
    ['an unknown program of the same version', false, rig({ agentVersion: '1.1.0', program: null })],
    [
      'a program that is not built',
      false,
      rig({ agentVersion: '1.1.0', program: { ...program, name: null } }),
    ],
    ['a newer version', false, rig({ agentVersion: '2.0.0' })],
    ['no version', false, rig({ agentVersion: null })],
    ["SimpleTuner's own worker", false, rig({ protocol: 1 })],
    ["the server's own worker", false, rig({}, { local: true })],
    ['a worker that never registered', false, rig(null)],
  ] as const)('for %s is %s', (_case, expected, subject) => {
    expect(isUpdateAvailable(subject, offered)).toBe(expected);
  });
});

const updating = (
  id: string,
  update: Partial<ProgramUpdate> = {},
  more: Partial<UpdatingWorker> = {},
): UpdatingWorker => ({
  id: WorkerId.parse(id),
  name: id,
  update: makeUpdate(update),
  isBusy: false,
  isOffline: false,
  ...more,
});

const brief = (workers: readonly UpdatingWorker[], now = 0) =>
  planUpdates(workers, now).map(({ kind, id }) => `${kind} ${id}`);

const states = UpdateState.options;

describe('plan of updates', () => {
  test('starts as many workers as may restart at the same time', () => {
    expect(brief([updating('a'), updating('b')])).toEqual(['start a']);
    expect(brief([updating('a', { atOnce: 2 }), updating('b', { atOnce: 2 })])).toEqual([
      'start a',
      'start b',
    ]);
    expect(brief([updating('a', { state: 'restarting' }), updating('b')])).toEqual([]);
  });

  test('keeps jobs from a busy worker, and starts idle ones first', () => {
    expect(brief([updating('a', {}, { isBusy: true }), updating('b')])).toEqual(['wait a', 'start b']);
    expect(brief([updating('a', { state: 'waiting' }, { isBusy: true })])).toEqual([]);
  });

  test('starts a worker that has waited for its job before those that still take jobs', () => {
    expect(brief([updating('a'), updating('b', { state: 'waiting' })])).toEqual(['start b']);
  });

  test('starts a busy worker at once when that is requested', () => {
    expect(brief([updating('a', { when: 'now' }, { isBusy: true })])).toEqual(['start a']);
  });

  test('stops the others after a failure, but not those of another request', () => {
    const other = updating('c', { request: UpdateId.parse('u_other') });
    const plan = planUpdates([updating('a', { state: 'failed' }), updating('b'), other], 0);
    expect(plan).toEqual([
      { kind: 'stop', id: 'b', reason: 'The update of a failed' },
      { kind: 'start', id: 'c' },
    ]);
  });

  test('skips a worker that is offline at its turn', () => {
    expect(brief([updating('a', {}, { isOffline: true }), updating('b')])).toEqual(['stop a', 'start b']);
  });

  test('fails an update whose worker goes offline, or that takes too long', () => {
    const active = { state: 'downloading', startedAt: 0 } as const;
    expect(brief([updating('a', active, { isOffline: true }), updating('b')])).toEqual(['fail a', 'stop b']);
    expect(brief([updating('a', active)], updateLimitMs - 1)).toEqual([]);
    expect(brief([updating('a', active)], updateLimitMs)).toEqual(['fail a']);
    expect(brief([updating('a', { ...active, startedAt: null })], updateLimitMs)).toEqual([]);
  });

  test('is under way until it has failed or was stopped', () => {
    expect(states.filter(state => isUnderWay(makeUpdate({ state })))).toEqual(states.slice(0, 4));
  });

  test('keeps jobs from a worker only while it waits for its job or restarts', () => {
    expect(takesNoJobs(null)).toBe(false);
    expect(takesNoJobs(undefined)).toBe(false);
    expect(states.filter(state => takesNoJobs(makeUpdate({ state })))).toEqual([
      'waiting',
      'downloading',
      'restarting',
    ]);
  });
});
