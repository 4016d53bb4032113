import { describe, expect, it } from 'vitest';
import { createRunCommand } from '../../../../agent/gpu/probe.ts';
import type { CommandResult } from '../../../../agent/process/run-command.ts';

describe('createRunCommand', () => {
  const environment = { PATH: process.env['PATH'], TEST_VARIABLE: 'hello' };
  const node = (
    script: string,
    options: { timeoutMs?: number; maxBytes?: number } = {},
  ): Promise<CommandResult> =>
    createRunCommand({ environment, ...options })(process.execPath, ['-e', script]);

  it('passes the environment to the command, in the C locale', async () => {
    const script =
      "process.stdout.write([process.env.LC_ALL, process.env.TEST_VARIABLE].join(' ')); console.error('e')";
    expect(await node(script)).toEqual({ kind: 'exited', code: 0, stdout: 'C hello', stderr: 'e\n' });
  });

  it('returns the exit code and the output', async () => {
    expect(await node("process.stdout.write('out'); process.exitCode = 9")).toMatchObject({
      kind: 'exited',
      code: 9,
      stdout: 'out',
    });
  });

  it('uses no shell', async () => {
    const run = createRunCommand({ environment });
    const result = await run(process.execPath, [
      '-e',
      'process.stdout.write(process.argv[1])',
      '$HOME; exit 3',
    ]);
    expect(result).toMatchObject({ kind: 'exited', code: 0, stdout: '$HOME; exit 3' });
  });

  it('reports a missing program', async () => {
    expect(await createRunCommand({ environment })('no-such-program-here', [])).toEqual({ kind: 'missing' });
  });

  it('reports a program that cannot be started as failed', async () => {
    expect(await createRunCommand({ environment })('/', [])).toMatchObject({
      kind: 'failed',
      message: expect.stringContaining('EACCES'),
    });
    expect(await createRunCommand({ environment })('node', ['a\0b'])).toMatchObject({ kind: 'failed' });
  });

  it('reports a program that was killed by a signal as failed', async () => {
    expect(await node("process.kill(process.pid, 'SIGTERM'); setInterval(() => {}, 1000)")).toEqual({
      kind: 'failed',
      message: 'it was killed by SIGTERM',
    });
  });

  it('fails when a command prints more than the limit', async () => {
    const script =
      "const chunk = 'x'.repeat(65536); (function more() { process.stdout.write(chunk, more) })()";
    expect(await node(script, { maxBytes: 100_000 })).toMatchObject({
      kind: 'failed',
      message: expect.stringContaining('maxBuffer'),
    });
  });

  it('returns timed_out for a program that still runs after the timeout', async () => {
    expect(await node('setInterval(() => {}, 1000)', { timeoutMs: 50 })).toEqual({
      kind: 'timed_out',
      timeoutMs: 50,
    });
  });

  it('returns timed_out for a program whose child keeps the output open', async () => {
    const run = createRunCommand({ environment, timeoutMs: 50 });
    expect(await run('/bin/sh', ['-c', 'sleep 3 & exit 0'])).toEqual({ kind: 'timed_out', timeoutMs: 50 });
  });
});
