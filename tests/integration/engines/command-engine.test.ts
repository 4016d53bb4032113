import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { LaunchId } from '../../../protocol/ids.ts';
import { joinToken, orderOf } from '../../support/engine-contract.ts';
import { type RecordedCall, engineOn } from '../../support/example-engine.ts';

const id = LaunchId.parse('a');

/** Creates an engine whose programs are these shell scripts. */
function createEngine(programs: Partial<Record<'check' | 'launch' | 'list' | 'end', string>>) {
  const folder = mkdtempSync(join(tmpdir(), 'programs-'));
  chmodSync(folder, 0o755);
  for (const [name, text] of Object.entries(programs))
    writeFileSync(join(folder, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  const calls: RecordedCall[] = [];
  return { folder, calls, engine: engineOn(folder, 'f', {}, calls) };
}
const printAnswer = (answer: unknown): string => `cat >/dev/null; printf '%s' '${JSON.stringify(answer)}'`;

test('writes exactly one message to the stdin of each engine program', async () => {
  const { engine, calls } = createEngine({
    check: printAnswer({ ok: true }),
    launch: printAnswer({ result: 'accepted', engine_id: '7' }),
    list: printAnswer({ launches: [] }),
    end: 'cat >/dev/null',
  });
  await engine.check();
  await engine.launch(orderOf(id));
  await engine.list();
  await engine.end([id], 'ask');
  expect(calls.map(({ stdin }) => JSON.parse(stdin) as unknown)).toEqual([
    { version: 1, fleet: 'f' },
    {
      version: 1,
      fleet: 'f',
      name: 'trainyard-f-a',
      nodes: 1,
      gpus: 0,
      wall_time_s: 600,
      notice_s: 120,
      worker_name: 'gpu-a',
      start: "echo 'gpu-a'",
      join_token: joinToken,
    },
    { version: 1, fleet: 'f', prefix: 'trainyard-f-' },
    { version: 1, fleet: 'f', names: ['trainyard-f-a'], how: 'ask' },
  ]);
  expect(JSON.stringify(calls.map(({ argv }) => argv))).not.toContain(joinToken);
});

test('reads listed launches with all fields, and fills in defaults for missing fields', async () => {
  const full = {
    name: 'trainyard-f-a',
    engine_id: '7',
    state: 'waiting',
    reason: { kind: 'quota', text: 'limit of\nthe account' },
    expected_start: '2026-11-25T14:20:00Z',
  };
  const minimal = {
    name: 'trainyard-f-b',
    engine_id: '8',
    state: 'running',
    started_at: '2026-11-25T14:20:00+01:00',
  };
  const launchOfOtherFleet = { ...minimal, name: 'trainyard-g-a' };
  const ended = { ...minimal, state: 'ended', exit: 'preempted' };
  const { engine } = createEngine({
    list: printAnswer({ launches: [full, ended, minimal, launchOfOtherFleet] }),
  });
  expect(await engine.list()).toEqual(
    new Map([
      [
        'a',
        {
          engineId: '7',
          state: 'waiting',
          reason: { kind: 'quota', text: 'limit of the account' },
          expectedStart: Date.parse('2026-11-25T14:20:00Z'),
          startedAt: null,
          endsAt: null,
          nodes: [],
          exit: null,
        },
      ],
      [
        'b',
        expect.objectContaining({
          engineId: '8',
          state: 'running',
          startedAt: Date.parse('2026-11-25T13:20:00Z'),
        }),
      ],
    ]),
  );
});

test.each([
  ['unknown', 'echo broken >&2; exit 1'],
  ['unknown', 'echo not-json'],
  ['unknown', printAnswer({ result: 'maybe' })],
  ['unknown', `${printAnswer({ result: 'accepted', engine_id: '7' })}; exit 1`],
  ['rejected', `${printAnswer({ result: 'rejected', scope: 'permanent', message: 'no such GPU' })}; exit 1`],
])('reports a launch as %s when the launch program runs: %s', async (kind, launch) => {
  expect(await createEngine({ launch }).engine.launch(orderOf(id))).toMatchObject({ kind });
});

test('leaves the join token out of error messages', async () => {
  const { engine } = createEngine({ launch: 'cat >&2; exit 1' });
  const answer = await engine.launch(orderOf(id, { workerName: 'w' }));
  expect(answer.kind).toBe('unknown');
  expect(JSON.stringify(answer)).not.toContain(joinToken);
});

test.each([
  ['fails', 'exit 1'],
  ['prints only a part of its answer', `printf '%s' '{"launches":[{"name":"trainyard-f-a"'`],
  [
    'prints an unknown state',
    printAnswer({ launches: [{ name: 'trainyard-f-a', engine_id: '7', state: 'lost' }] }),
  ],
])('throws when the list program %s', async (_title, list) => {
  await expect(createEngine({ list }).engine.list()).rejects.toThrow(/list/);
});

test.each<[string, (folder: string) => void]>([
  ['is missing', folder => rmSync(join(folder, 'launch'))],
  ['is not executable', folder => chmodSync(join(folder, 'launch'), 0o644)],
  ['is writable by others', folder => chmodSync(join(folder, 'launch'), 0o777)],
  ['lies in a folder that is writable by others', folder => chmodSync(folder, 0o777)],
])('does not run a launch program that %s', async (_title, makeUnusable) => {
  const { folder, engine, calls } = createEngine({
    launch: printAnswer({ result: 'accepted', engine_id: '7' }),
  });
  makeUnusable(folder);
  expect(await engine.launch(orderOf(id))).toMatchObject({
    kind: 'rejected',
    scope: 'temporary',
    code: 'programs',
    message: expect.stringContaining(folder),
  });
  expect(calls).toEqual([]);
});

test.runIf(process.getuid?.() === 0)('does not run an engine program of another user', async () => {
  const { folder, engine } = createEngine({ check: printAnswer({ ok: true }) });
  chownSync(join(folder, 'check'), 65_534, 65_534);
  expect(await engine.check()).toMatchObject({ ok: false, detail: expect.stringContaining('another user') });
});
