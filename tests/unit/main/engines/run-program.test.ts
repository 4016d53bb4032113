import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { type ProgramCall, describeFailure, runProgram } from '../../../../main/engines/run-program.ts';

const env = { PATH: process.env['PATH'] };
const shell = (script: string, more: Partial<ProgramCall> = {}) =>
  runProgram({ argv: ['sh', '-c', script], env, timeoutMs: 10_000, ...more });

it('returns the exit code and both outputs', async () => {
  expect(await shell('echo out; echo err >&2; exit 3')).toEqual({
    ended: 'exited',
    code: 3,
    stdout: 'out\n',
    stderr: 'err\n',
  });
});

it('passes arguments unchanged, the environment and stdin', async () => {
  const result = await runProgram({
    argv: ['sh', '-c', 'printf "%s|" "$@" "$TOKEN"; cat', 'name', 'a b', "c'd", '$(e)'],
    env: { ...env, TOKEN: 'tj_1', NOTHING: undefined },
    stdin: 'input',
    timeoutMs: 10_000,
  });
  expect(result.stdout).toBe("a b|c'd|$(e)|tj_1|input");
});

it('kills the program and its children at the time limit', async () => {
  const file = join(tmpdir(), `child-of-${process.pid}`);
  const result = await shell(`sleep 60 & echo $! >'${file}'; echo begun; wait`, { timeoutMs: 300 });
  expect(result).toMatchObject({ ended: 'timed_out', code: null, stdout: 'begun\n' });
  const child = Number(readFileSync(file, 'utf8'));
  await vi.waitFor(() => expect(isRunning(child)).toBe(false));
});

/** A zombie has ended: not every init process collects its children at once. */
function isRunning(pid: number): boolean {
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

it('does not wait for a background process that holds stderr open', async () => {
  const startedAt = performance.now();
  const result = await shell('sleep 5 >/dev/null & echo done');
  expect(result).toMatchObject({ ended: 'exited', code: 0, stdout: 'done\n' });
  expect(performance.now() - startedAt).toBeLessThan(4_000);
});

it('kills a program that prints too much', async () => {
  const result = await shell('yes', { maxOutputBytes: 10_000 });
  expect(result).toMatchObject({ ended: 'too_much_output', code: null });
  expect(result.stdout.length).toBeLessThanOrEqual(10_000);
});

it('returns a result for a program that is killed, ignores its input or cannot start', async () => {
  expect(await shell('kill -9 $$')).toMatchObject({ ended: 'killed', code: null });
  expect(await shell('exec <&-; exit 0', { stdin: 'x'.repeat(1_000_000) })).toMatchObject({ code: 0 });
  const run = (file: string) => runProgram({ argv: [file], env, timeoutMs: 10_000 });
  expect(await run('no-such-program')).toMatchObject({ ended: 'missing', code: null });
  expect(await run('/etc/passwd')).toMatchObject({
    ended: 'failed',
    stderr: expect.stringMatching(/EACCES/),
  });
  expect(await run('a\0b')).toMatchObject({ ended: 'failed' });
});

it('describes each failure in one line', async () => {
  const cases = [
    ['exit 4', {}, 'squeue failed with exit code 4'],
    ['echo one >&2; echo >&2; echo two >&2; exit 1', {}, 'squeue failed with exit code 1: one / two'],
    ['sleep 5', { timeoutMs: 100 }, 'squeue did not answer in time'],
    ['yes', { maxOutputBytes: 10 }, 'squeue printed too much'],
    ['kill -9 $$', {}, 'squeue was killed'],
  ] as const;
  for (const [script, more, message] of cases)
    expect(describeFailure('squeue', await shell(script, more))).toBe(message);
  const missing = await runProgram({ argv: ['no-such-program'], env, timeoutMs: 10_000 });
  expect(describeFailure('squeue', missing)).toMatch(/^squeue is not installed, or not on the PATH/);
});
