import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import {
  type ProgramOptions,
  createRunProgram,
  describeFailure,
} from '../../../../main/engines/run-program.ts';

const run = createRunProgram({ PATH: process.env['PATH'], HIDDEN: 'value' });
const runShell = (script: string, options: Partial<ProgramOptions> = {}) =>
  run(['sh', '-c', script], { timeoutMs: 10_000, ...options });

it('returns the exit code, stdout and stderr of a program', async () => {
  expect(await runShell('echo out; echo err >&2; exit 3')).toEqual({
    code: 3,
    stdout: 'out\n',
    stderr: 'err\n',
    timedOut: false,
  });
});

it('passes the arguments, the environment and stdin unchanged', async () => {
  const argv = ['sh', '-c', 'printf "%s|" "$@" "$TOKEN" "$HIDDEN"; cat', 'name', 'a b', "c'd", '$(e)'];
  const env = { TOKEN: 'tj_1', HIDDEN: undefined };
  expect(await run(argv, { env, stdin: 'input', timeoutMs: 10_000 })).toMatchObject({
    code: 0,
    stdout: "a b|c'd|$(e)|tj_1||input",
  });
});

/** Returns false for a zombie, because some init processes reap zombies late. */
function isRunning(pid: number): boolean {
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

it('kills a program and its children at the time limit', async () => {
  const file = join(tmpdir(), `child-of-${process.pid}`);
  const result = await runShell(`sleep 60 & echo $! >'${file}'; echo started; wait`, { timeoutMs: 300 });
  expect(result).toEqual({ code: null, stdout: 'started\n', stderr: '', timedOut: true });
  const child = Number(readFileSync(file, 'utf8'));
  await vi.waitFor(() => expect(isRunning(child)).toBe(false));
});

it('does not wait for a background process that holds stderr open', async () => {
  const startedAt = performance.now();
  expect(await runShell('sleep 5 >/dev/null & echo done')).toMatchObject({ code: 0, stdout: 'done\n' });
  expect(performance.now() - startedAt).toBeLessThan(4_000);
});

it('kills a program that prints more than maxOutput bytes', async () => {
  const result = await runShell('yes', { maxOutput: 10_000 });
  expect(result).toMatchObject({ code: null, timedOut: false });
  expect(result.stdout.length).toBeLessThanOrEqual(10_000);
});

it('returns a result when the program is killed, ignores its input or cannot start', async () => {
  expect(await runShell('kill -9 $$')).toMatchObject({ code: 137 });
  expect(await runShell('exec <&-; exit 0', { stdin: 'x'.repeat(1_000_000) })).toMatchObject({ code: 0 });
  const start = (file: string) => run([file], { timeoutMs: 10_000 });
  expect(await start('no-such-program')).toMatchObject({ code: 127, stderr: 'no-such-program: not found' });
  expect(await start('/etc/passwd')).toMatchObject({ code: 126, stderr: expect.stringMatching(/EACCES/) });
  expect(await start('a\0b')).toMatchObject({ code: 126 });
});

it.each([
  ['exit 4', {}, 'squeue failed with exit code 4'],
  ['echo one >&2; echo >&2; echo two >&2; exit 1', {}, 'squeue failed with exit code 1: one / two'],
  ['echo out; exit 1', {}, 'squeue failed with exit code 1: out'],
  ['exec sleep 5', { timeoutMs: 100 }, 'squeue did not answer in time'],
  ['echo a line; yes 12345 >&2', { maxOutput: 10 }, 'squeue failed: sh: printed more than 10 bytes'],
  ['exec no-such-program 2>/dev/null', {}, 'squeue was not found'],
])('describes the failure of `%s` in one line', async (script, options, message) => {
  expect(describeFailure('squeue', await runShell(script, options))).toBe(message);
});
