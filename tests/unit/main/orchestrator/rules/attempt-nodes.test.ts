import { describe, expect, test } from 'vitest';
import type { AttemptNode, NodeEnd } from '../../../../../main/orchestrator/node-model.ts';
import {
  advanceNode,
  endsAttempt,
  newNodes,
  type NodeEvent,
  rendezvousOf,
  wantsNodes,
} from '../../../../../main/orchestrator/rules/attempt-nodes.ts';
import { attemptId, freezeDeep, jobId, makeNeeds, makePending, makeSpec, workerId } from '../builders.ts';

// A node is one worker of an attempt on several workers. The worker of a held node takes no other job, because its trainer
// may still run.
const ids = { jobId: jobId('j1'), attemptId: attemptId('a1') };
const nodes = newNodes(ids, [workerId('w1'), workerId('w2')]);
const makeEnd = (outcome: NodeEnd['outcome']): NodeEnd => ({
  at: 5,
  outcome,
  cause: null,
  error: null,
  exitCode: null,
  signal: null,
});
// The address of the first node, at which the trainers of all nodes meet.
const rendezvous = { address: '10.0.0.1', port: 29_500 };
const events = {
  claim: { type: 'claim' },
  ready: { type: 'ready', rendezvous },
  run: { type: 'run' },
  stop: { type: 'stop', end: makeEnd('stopped') },
  end: { type: 'end', end: makeEnd('failed') },
} as const satisfies Readonly<Record<NodeEvent['type'], NodeEvent>>;
// Returns the node after these events.
const after = (node: AttemptNode, ...types: readonly NodeEvent['type'][]): AttemptNode =>
  types.reduce((current, type) => advanceNode(freezeDeep(current), events[type]), node);
const [first, second] = nodes as [AttemptNode, AttemptNode];

test('returns true from wantsNodes only for a job that needs more than one machine', () => {
  const jobWith = (count: number | undefined) =>
    makePending({ spec: makeSpec({ requirements: makeNeeds(count === undefined ? {} : { nodes: count }) }) });
  expect([undefined, 1, 2].map(count => wantsNodes(jobWith(count)))).toEqual([false, false, true]);
});

test('creates an offered node for each worker of a new attempt, and marks all nodes except the first as held', () => {
  expect(nodes.map(({ rank, workerId: id, state, isHeld }) => [rank, id, state, isHeld])).toEqual([
    [0, 'w1', 'offered', false],
    [1, 'w2', 'offered', true],
  ]);
});

describe('advanceNode', () => {
  test.each<readonly [NodeEvent['type'], readonly string[]]>([
    ['claim', ['starting', 'starting', 'ready', 'running', 'ended']],
    ['ready', ['ready', 'ready', 'ready', 'running', 'ended']],
    ['run', ['running', 'running', 'running', 'running', 'ended']],
    ['stop', ['ended', 'ended', 'ended', 'ended', 'ended']],
    ['end', ['ended', 'ended', 'ended', 'ended', 'ended']],
  ])('never moves a node back to an earlier state on the event %s', (type, expected) => {
    const states = [[], ['claim'], ['ready'], ['run'], ['stop']] as const;
    expect(states.map(before => after(second, ...before, type).state)).toEqual(expected);
  });

  test('returns the same node when an event changes nothing', () => {
    const ended = after(second, 'end');
    expect(after(ended, 'claim', 'ready', 'run', 'stop', 'end')).toBe(ended);
    const ready = after(second, 'ready');
    expect(after(ready, 'claim', 'ready')).toBe(ready);
  });

  test('keeps a stopped node held until the node ends, and keeps the outcome unless the node completes', () => {
    const stopped = after(second, 'run', 'stop');
    expect(stopped).toMatchObject({ isHeld: true, end: { outcome: 'stopped' } });
    expect(after(stopped, 'end')).toMatchObject({ isHeld: false, end: { outcome: 'stopped' } });
    expect(after(second, 'run', 'end')).toMatchObject({ isHeld: false, end: { outcome: 'failed' } });
    const completed = advanceNode(stopped, { type: 'end', end: makeEnd('completed') });
    expect(completed).toMatchObject({ isHeld: false, end: { outcome: 'completed' } });
  });
});

describe('rendezvousOf', () => {
  test('returns the address of the first node once all nodes are ready or running', () => {
    const unready = [
      [first, second],
      [after(first, 'ready'), second],
      [first, after(second, 'ready')],
    ];
    expect(unready.map(pair => rendezvousOf(pair, null))).toEqual([null, null, null]);
    expect(rendezvousOf([after(first, 'ready'), after(second, 'ready')], null)).toEqual(rendezvous);
    expect(rendezvousOf([after(first, 'ready', 'run'), after(second, 'ready')], null)).toEqual(rendezvous);
  });

  test('returns null when a node has ended, or when the first node never reported its address', () => {
    expect(rendezvousOf([after(first, 'ready'), after(second, 'end')], null)).toBeNull();
    expect(rendezvousOf([after(first, 'run'), after(second, 'ready')], '10.0.0.9')).toBeNull();
    expect(rendezvousOf([after(second, 'ready')], '10.0.0.9')).toBeNull();
  });

  test('returns the address from which the first worker registered when the worker reports no address', () => {
    const withoutAddress = advanceNode(first, { type: 'ready', rendezvous: { address: null, port: 7 } });
    const pair = [withoutAddress, after(second, 'ready')];
    expect(rendezvousOf(pair, '10.0.0.9')).toEqual({ address: '10.0.0.9', port: 7 });
    expect(rendezvousOf(pair, null)).toBeNull();
  });
});

test('ends the attempt when a node fails, is lost or never claims its offer', () => {
  const outcomes = ['completed', 'failed', 'stopped', 'lost', 'withdrawn'] as const;
  expect(outcomes.filter(outcome => endsAttempt(makeEnd(outcome)))).toEqual(['failed', 'lost', 'withdrawn']);
});
