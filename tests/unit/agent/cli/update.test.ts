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
const fresh = 'the next version';
const sumsOf = (text: string): string =>
  `# 1.1.0\n${sha256('x')}  trainyard-worker.mjs\n${sha256(text)}  ${name}\n`;

type Answers = Readonly<Record<string, (() => Response) | string>>;

/** Creates an orchestrator with these answers, and a folder that contains only the worker program. */
function open(answers: Answers, more: Partial<Pick<UpdateDeps, 'sums' | 'versionOf'>> = {}) {
  const path = join(openFolder(), 'trainyard-worker');
  writeFileSync(path, 'what is there', { mode: 0o755 });
  const asked: string[] = [];
  const fetch: Fetch = async url => {
    asked.push(url.pathname);
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
      versionOf: async command => (readFileSync(command[0] ?? '', 'utf8') === fresh ? '1.1.0' : '1.0.0'),
      ...more,
    });
  return {
    update,
    path,
    asked,
    /** Returns the content and the mode of the program, and the names of all files in its folder. */
    now: () => [
      readFileSync(path, 'utf8'),
      (statSync(path).mode & 0o777).toString(8),
      readdirSync(join(path, '..')).length,
    ],
  };
}

const old = ['what is there', '755', 1];
const usual: Answers = { SHA256SUMS: sumsOf(fresh), [name]: fresh };

test('replaces the program with the announced one', async () => {
  const { update, now, asked } = open(usual);
  expect(await update()).toEqual({ kind: 'replaced', version: '1.1.0' });
  expect(now()).toEqual([fresh, '755', 1]);
  expect(asked).toEqual(['/agent/SHA256SUMS', `/agent/${name}`]);
});

test('downloads nothing when the program is up to date', async () => {
  const { update, asked } = open({ SHA256SUMS: sumsOf('what is there') });
  expect(await update()).toEqual({ kind: 'current', version: '1.0.0' });
  expect(asked).toEqual(['/agent/SHA256SUMS']);
});

test('accepts only a program that matches the hash of the checksums', async () => {
  const right = open(usual, { sums: sha256(sumsOf(fresh)) });
  expect(await right.update()).toMatchObject({ kind: 'replaced' });
  const wrong = open(usual, { sums: sha256('of others') });
  expect(await wrong.update()).toMatchObject({
    message: expect.stringMatching(/does not match --sums/) as string,
  });
  expect([wrong.now(), wrong.asked]).toEqual([old, ['/agent/SHA256SUMS']]);
});

/** A response that breaks off, as after a crash of the server. */
const cutOff = (): Response =>
  new Response(
    new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode('the ne'));
        controller.error(new Error('aborted'));
      },
    }),
  );

describe('failed updates', () => {
  test.each<readonly [what: string, answers: Answers, more: Partial<UpdateDeps>, said: RegExp]>([
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
      { SHA256SUMS: sumsOf(fresh) },
      {},
      /does not offer trainyard-worker-linux-x64/,
    ],
    ['the download is another program', { ...usual, [name]: 'evil' }, {}, /does not match its SHA-256/],
    ['the download is incomplete', { ...usual, [name]: fresh.slice(0, 5) }, {}, /does not match its SHA-256/],
    ['the download is cut off', { ...usual, [name]: cutOff }, {}, /aborted/],
    [
      'the server is overloaded',
      { ...usual, [name]: () => new Response('', { status: 429 }) },
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
      usual,
      { versionOf: () => Promise.reject(new Error('libstdc++.so.6: cannot open')) },
      /does not run on this machine: libstdc\+\+/,
    ],
    [
      'the program prints no version',
      usual,
      { versionOf: async () => 'hello' },
      /does not print its version/,
    ],
  ])('keeps the old program and leaves no other file when %s', async (_what, answers, more, said) => {
    const { update, now } = open(answers, more);
    expect(await update()).toEqual({ kind: 'failed', message: expect.stringMatching(said) as string });
    expect(now()).toEqual(old);
  });
});

describe('ownProgram', () => {
  const real = (path: string): string => {
    if (path === '/bin/trainyard-worker') return '/opt/trainyard-worker.mjs';
    if (path === 'worker') throw new Error('ENOENT');
    return path;
  };
  test('finds the standalone executable', () => {
    expect(ownProgram(['/opt/tw'], real)).toEqual({ name, path: '/opt/tw', runner: [] });
  });
  test('finds the single file that Node runs, also through a link', () => {
    const program = {
      name: 'trainyard-worker.mjs',
      path: '/opt/trainyard-worker.mjs',
      runner: ['/usr/bin/node'],
    };
    expect(ownProgram(['/usr/bin/node', '/opt/trainyard-worker.mjs'], real)).toEqual(program);
    expect(ownProgram(['/usr/bin/node', '--flag', '/bin/trainyard-worker'], real)).toEqual(program);
  });
  test('finds no program in a checkout', () => {
    expect(ownProgram(['/usr/bin/node', '/src/agent/main.ts'], real)).toBeNull();
    expect(() => ownProgram(['/usr/bin/node', '/src/main/cli.ts', 'worker'], real)).toThrow('ENOENT');
  });
});
