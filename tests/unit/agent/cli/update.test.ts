import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type UpdateDeps, updateProgram } from '../../../../agent/cli/update.ts';
import { ownProgram } from '../../../../agent/update/program.ts';
import type { Fetch } from '../../../../protocol/client.ts';
import { openFolder } from '../../../support/fleet-bench.ts';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const name = 'trainyard-worker-linux-x64';
const newProgram = 'the next version';
const sumsOf = (text: string): string =>
  `# 1.1.0\n${sha256('x')}  trainyard-worker.mjs\n${sha256(text)}  ${name}\n`;

type Answers = Readonly<Record<string, (() => Response) | string>>;

/** Creates an orchestrator with these answers, and a folder that contains only the worker program. */
function createFixture(answers: Answers, overrides: Partial<Pick<UpdateDeps, 'sums' | 'versionOf'>> = {}) {
  const path = join(openFolder(), 'trainyard-worker');
  writeFileSync(path, 'the old version', { mode: 0o755 });
  const requestedPaths: string[] = [];
  const fetch: Fetch = async url => {
    requestedPaths.push(url.pathname);
    const answer = answers[url.pathname.slice('/agent/'.length)];
    if (typeof answer === 'string') return new Response(answer);
    return answer?.() ?? new Response('{}', { status: 404 });
  };
  const update = () =>
    updateProgram({
      url: 'http://yard:8001',
      fetch,
      own: { name, path, runner: [] },
      sums: null,
      versionOf: async command => (readFileSync(command[0] ?? '', 'utf8') === newProgram ? '1.1.0' : '1.0.0'),
      ...overrides,
    });
  return {
    update,
    path,
    requestedPaths,
    /** Returns the content and the mode of the program, and the names of all files in its folder. */
    readFolder: () => [
      readFileSync(path, 'utf8'),
      (statSync(path).mode & 0o777).toString(8),
      readdirSync(join(path, '..')).length,
    ],
  };
}

/** The program and its folder before an update. */
const unchanged = ['the old version', '755', 1];
/** The answers of an orchestrator with a newer program. */
const newerProgram: Answers = { SHA256SUMS: sumsOf(newProgram), [name]: newProgram };

test('replaces the program with the newer program of the server', async () => {
  const { update, readFolder, requestedPaths } = createFixture(newerProgram);
  expect(await update()).toEqual({ kind: 'replaced', version: '1.1.0' });
  expect(readFolder()).toEqual([newProgram, '755', 1]);
  expect(requestedPaths).toEqual(['/agent/SHA256SUMS', `/agent/${name}`]);
});

test('downloads nothing when the program is up to date', async () => {
  const { update, requestedPaths } = createFixture({ SHA256SUMS: sumsOf('the old version') });
  expect(await update()).toEqual({ kind: 'current', version: '1.0.0' });
  expect(requestedPaths).toEqual(['/agent/SHA256SUMS']);
});

test('updates only if the downloaded checksums match --sums', async () => {
  const right = createFixture(newerProgram, { sums: sha256(sumsOf(newProgram)) });
  expect(await right.update()).toMatchObject({ kind: 'replaced' });
  const wrong = createFixture(newerProgram, { sums: sha256('other checksums') });
  expect(await wrong.update()).toMatchObject({
    message: expect.stringMatching(/does not match --sums/) as string,
  });
  expect([wrong.readFolder(), wrong.requestedPaths]).toEqual([unchanged, ['/agent/SHA256SUMS']]);
});

/** A response whose body ends early, as after a crash of the server. */
const incompleteResponse = (): Response =>
  new Response(
    new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode('the ne'));
        controller.error(new Error('aborted'));
      },
    }),
  );

describe('failed updates', () => {
  test.each<readonly [title: string, answers: Answers, overrides: Partial<UpdateDeps>, message: RegExp]>([
    ['the server has no programs', {}, {}, /does not offer SHA256SUMS: to build it, run "npm run build"/],
    [
      'the server has programs for other systems only',
      { SHA256SUMS: `${sha256('x')}  trainyard-worker.mjs\n` },
      {},
      /does not offer trainyard-worker-linux-x64/,
    ],
    ['the checksums are invalid', { SHA256SUMS: '<html>' }, {}, /does not offer trainyard-worker-linux-x64/],
    ['the checksums are too long', { SHA256SUMS: 'x'.repeat(20_000) }, {}, /is too large/],
    [
      'the program is missing',
      { SHA256SUMS: sumsOf(newProgram) },
      {},
      /does not offer trainyard-worker-linux-x64/,
    ],
    [
      'the download is another program',
      { ...newerProgram, [name]: 'evil' },
      {},
      /does not match its SHA-256/,
    ],
    [
      'the download is incomplete',
      { ...newerProgram, [name]: newProgram.slice(0, 5) },
      {},
      /does not match its SHA-256/,
    ],
    ['the download is cut off', { ...newerProgram, [name]: incompleteResponse }, {}, /aborted/],
    [
      'the server is overloaded',
      { ...newerProgram, [name]: () => new Response('', { status: 429 }) },
      {},
      /answered 429 .* try again later/,
    ],
    [
      'the server is unreachable',
      {
        SHA256SUMS: () => {
          throw Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });
        },
      },
      {},
      /^Connection refused/,
    ],
    [
      'the program does not run on this machine',
      newerProgram,
      { versionOf: () => Promise.reject(new Error('libstdc++.so.6: cannot open')) },
      /does not run on this machine: libstdc\+\+/,
    ],
    [
      'the program prints no version',
      newerProgram,
      { versionOf: async () => 'hello' },
      /does not print its version/,
    ],
  ])(
    'keeps the old program and leaves no other file when %s',
    async (_title, answers, overrides, message) => {
      const { update, readFolder } = createFixture(answers, overrides);
      expect(await update()).toEqual({ kind: 'failed', message: expect.stringMatching(message) as string });
      expect(readFolder()).toEqual(unchanged);
    },
  );
});

describe('ownProgram', () => {
  const resolveLinks = (path: string): string => {
    if (path === '/bin/trainyard-worker') return '/opt/trainyard-worker.mjs';
    if (path === 'worker') throw new Error('ENOENT');
    return path;
  };
  test('finds the standalone executable', () => {
    expect(ownProgram(['/opt/tw'], resolveLinks)).toEqual({ name, path: '/opt/tw', runner: [] });
  });
  test('finds the script that Node runs, also through a link', () => {
    const program = {
      name: 'trainyard-worker.mjs',
      path: '/opt/trainyard-worker.mjs',
      runner: ['/usr/bin/node'],
    };
    expect(ownProgram(['/usr/bin/node', '/opt/trainyard-worker.mjs'], resolveLinks)).toEqual(program);
    expect(ownProgram(['/usr/bin/node', '--flag', '/bin/trainyard-worker'], resolveLinks)).toEqual(program);
  });
  test('finds no program in a checkout', () => {
    expect(ownProgram(['/usr/bin/node', '/src/agent/main.ts'], resolveLinks)).toBeNull();
    expect(() => ownProgram(['/usr/bin/node', '/src/main/cli.ts', 'worker'], resolveLinks)).toThrow('ENOENT');
  });
});
