import { expect, test } from 'vitest';
import { updateLine } from '../../../../../protocol/join-line.ts';
import { compareAgentVersion } from '../../../../../renderer/pages/workers/server-version.ts';

const ours = { protocol: 2, agent_version: '1.2.0', local: false } as const;

test.each([
  ['the same bundle', ours, '1.2.0', null],
  ['an older agent', ours, '1.10.0', 'older'],
  ['a newer agent', ours, '1.2.0-rc.1', 'newer'],
  ["SimpleTuner's own, which counts for itself", { ...ours, protocol: 1 as const }, '9.0.0', null],
  ['an agent without a version', { ...ours, agent_version: null }, '9.0.0', null],
  ['an agent with an unknown version', { ...ours, agent_version: 'dev' }, '9.0.0', null],
  ["the server's own worker", { ...ours, local: true }, '9.0.0', null],
  ['an unreachable server', ours, null, null],
] as const)('compares the versions for %s', (_title, worker, server, expected) => {
  expect(compareAgentVersion(worker, server)).toBe(expected);
});

test('includes the checksum in the update command for connections without TLS', () => {
  expect(updateLine({ url: 'https://yard:8001', pin: 'sha256:Ab=' }, 'c'.repeat(64))).toBe(
    `trainyard-worker update --orchestrator-url https://yard:8001 --pin sha256:Ab= --sums ${'c'.repeat(64)}`,
  );
});
