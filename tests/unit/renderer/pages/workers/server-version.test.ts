import { expect, test } from 'vitest';
import { updateCommand } from '../../../../../renderer/pages/workers/join-commands.ts';
import { agentStanding } from '../../../../../renderer/pages/workers/server-version.ts';

const ours = { protocol: 2, agent_version: '1.2.0', local: false } as const;

test.each([
  ['the same', ours, '1.2.0', null],
  ['an older one', ours, '1.10.0', 'older'],
  ['a newer one', ours, '1.2.0-rc.1', 'newer'],
  ["SimpleTuner's own, which counts for itself", { ...ours, protocol: 1 as const }, '9.0.0', null],
  ['one that has not said', { ...ours, agent_version: null }, '9.0.0', null],
  ['one that says something else', { ...ours, agent_version: 'dev' }, '9.0.0', null],
  ["the server's own worker", { ...ours, local: true }, '9.0.0', null],
  ['a server that has not answered', ours, null, null],
] as const)('%s', (_what, worker, server, expected) => {
  expect(agentStanding(worker, server)).toBe(expected);
});

test('what is to be run has the hash in it, for those who come without TLS', () => {
  expect(updateCommand({ url: 'https://yard:8001', pin: 'sha256:Ab=' }, 'c'.repeat(64))).toBe(
    `trainyard-worker update --orchestrator-url https://yard:8001 --pin sha256:Ab= --sums ${'c'.repeat(64)}`,
  );
});
