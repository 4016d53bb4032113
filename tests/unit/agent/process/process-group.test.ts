import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { systemClock } from '../../../../agent/clock.ts';
import { ownProcesses } from '../../../../agent/process/own-processes.ts';
import { type ProcessGroup, startGroup } from '../../../../agent/process/process-group.ts';
import { tempFolder, writeFile } from '../builders.ts';

const env = { PATH: process.env['PATH'] };
const deps = { processes: ownProcesses(env), clock: systemClock };

async function start(script: string, ...args: readonly string[]): Promise<ProcessGroup> {
  const group = await startGroup(
    { argv: [process.execPath, '-e', script, ...args], cwd: tempFolder(), env },
    deps,
  );
  onTestFinished(() => {
    if (isAlive(-group.pid)) process.kill(-group.pid, 'SIGKILL');
  });
  return group;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Reads the next line, and discards all output after it. */
async function nextLine(stream: Readable): Promise<string> {
  let text = '';
  while (!text.includes('\n')) text += String((await once(stream, 'data'))[0]);
  stream.resume();
  return text.trim();
}

const readAll = async (stream: Readable): Promise<string> => {
  let text = '';
  for await (const chunk of stream) text += String(chunk);
  return text;
};

/** Prints "ready" and then runs until it is killed. */
const stay = `console.log('ready'); setInterval(() => {}, 1000);`;
const ignoreSignals = `process.on('SIGTERM', () => {}); process.on('SIGHUP', () => {});`;

describe('end of a command', () => {
  it.each<[string, string, { code: number | null; signal: string | null }]>([
    ['with exit code 0', '', { code: 0, signal: null }],
    ['with another exit code', 'process.exit(7)', { code: 7, signal: null }],
    ['by a signal', `process.kill(process.pid, 'SIGKILL')`, { code: null, signal: 'SIGKILL' }],
    ['by an exception', 'throw new Error("x")', { code: 1, signal: null }],
  ])('returns code and signal of a command that ended %s', async (_title, script, expected) => {
    const group = await start(script);
    group.stdout.resume();
    group.stderr.resume();
    expect(await group.exited).toEqual(expected);
  });

  it('resolves exited after all output has been read', async () => {
    const group = await start(
      `process.stdout.write('o'.repeat(300_000)); process.stderr.write('e'.repeat(300_000))`,
    );
    const ended = vi.fn<() => void>();
    void group.exited.then(ended);
    const [out, err] = [readAll(group.stdout), readAll(group.stderr)];
    expect([(await out).length, (await err).length]).toEqual([300_000, 300_000]);
    await group.exited;
    expect(ended).toHaveBeenCalled();
  });
});

describe('commands that cannot start', () => {
  it.each<[string, (folder: string) => readonly string[], string]>([
    ['that does not exist', folder => [join(folder, 'none')], 'ENOENT'],
    ['that is not executable', folder => [writeFile(folder, 'text', 'x', 0o644)], 'EACCES'],
    ['that is a folder', folder => [folder], 'EACCES'],
    ['without a program', () => [], 'ERR_INVALID_ARG_VALUE'],
    ['with a NUL character', () => [process.execPath, 'a\0b'], 'ERR_INVALID_ARG_VALUE'],
  ])('fails to start a command %s', async (_title, argv, code) => {
    const folder = tempFolder();
    await expect(startGroup({ argv: argv(folder), cwd: folder, env }, deps)).rejects.toMatchObject({ code });
  });

  it('fails to start a command in a missing folder', async () => {
    const cwd = join(tempFolder(), 'none');
    await expect(startGroup({ argv: [process.execPath, '-e', ''], cwd, env }, deps)).rejects.toThrow(
      'ENOENT',
    );
  });

  it('starts a command in an existing folder', async () => {
    const cwd = join(tempFolder(), 'existing');
    mkdirSync(cwd);
    const group = await startGroup({ argv: [process.execPath, '-p', 'process.cwd()'], cwd, env }, deps);
    expect(await nextLine(group.stdout)).toContain('existing');
    await group.exited;
  });
});

describe('stopping a command', () => {
  it('sends SIGTERM first, and leaves time for a clean end', async () => {
    const group = await start(
      `process.on('SIGTERM', () => { console.log('saved'); process.exit(3); }); ${stay}`,
    );
    await nextLine(group.stdout);
    const saved = nextLine(group.stdout);
    group.stop(60_000);
    expect(await saved).toBe('saved');
    expect(await group.exited).toEqual({ code: 3, signal: null });
  });

  it('reports SIGTERM for a command that does not handle this signal', async () => {
    const group = await start(stay);
    await nextLine(group.stdout);
    group.stop(60_000);
    expect(await group.exited).toEqual({ code: null, signal: 'SIGTERM' });
  });

  it('sends SIGKILL after the grace period to a command that ignores SIGTERM', async () => {
    const group = await start(`${ignoreSignals} ${stay}`);
    await nextLine(group.stdout);
    const startedAt = performance.now();
    group.stop(150);
    expect(await group.exited).toEqual({ code: null, signal: 'SIGKILL' });
    // Timers may fire up to 1 ms early.
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(149);
  });

  it('ignores a second stop, and keeps the grace period of the first stop', async () => {
    const group = await start(`${ignoreSignals} ${stay}`);
    await nextLine(group.stdout);
    const kill = vi.spyOn(process, 'kill');
    onTestFinished(() => kill.mockRestore());
    group.stop(50);
    group.stop(60_000);
    expect(kill.mock.calls).toEqual([[-group.pid, 'SIGTERM']]);
    expect(await group.exited).toEqual({ code: null, signal: 'SIGKILL' });
  });

  it('sends no signal after the end, because the pid may belong to another process', async () => {
    const group = await start('');
    await group.exited;
    const kill = vi.spyOn(process, 'kill');
    vi.useFakeTimers();
    onTestFinished(() => {
      vi.useRealTimers();
      kill.mockRestore();
    });
    group.stop(10);
    expect(vi.getTimerCount()).toBe(0);
    expect(kill).not.toHaveBeenCalled();
  });
});
