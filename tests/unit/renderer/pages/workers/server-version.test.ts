import { expect, test } from 'vitest';
import { updateLine } from '../../../../../protocol/join-line.ts';
import { compareAgentVersion } from '../../../../../renderer/pages/workers/server-version.ts';

const currentWorker = { protocol: 2, agent_version: '1.2.0', local: false } as const;

test.each([
  ['the same version', currentWorker, '1.2.0', null],
  ['an older agent', currentWorker, '1.10.0', 'older'],
  ['a newer agent', currentWorker, '1.2.0-rc.1', 'newer'],
  [
    "SimpleTuner's own worker, whose versions are unrelated",
    { ...currentWorker, protocol: 1 as const },
    '9.0.0',
    null,
  ],
  ['an agent without a version', { ...currentWorker, agent_version: null }, '9.0.0', null],
  ['an agent with an unknown version', { ...currentWorker, agent_version: 'dev' }, '9.0.0', null],
  ["the server's own worker", { ...currentWorker, local: true }, '9.0.0', null],
  ['an unreachable server', currentWorker, null, null],
] as const)(
  'finds whether the agent is older or newer than the server, if any: %s',
  (_title, worker, server, expected) => {
    expect(compareAgentVersion(worker, server)).toBe(expected);
  },
);

test('includes the SHA-256 of the SHA256SUMS file in the update command', () => {
  expect(updateLine({ url: 'https://yard:8001', pin: 'sha256:Ab=' }, 'c'.repeat(64))).toBe(
    `trainyard-worker update --orchestrator-url https://yard:8001 --pin sha256:Ab= --sums ${'c'.repeat(64)}`,
  );
});
