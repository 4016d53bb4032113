import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { startRun } from '../../../agent/run.ts';
import { turn } from './held-runs.ts';
import { scriptJob, tempFolder } from './builders.ts';

/** Prints this much on stdout, in one go, and a last line on stderr. */
const printing = (bytes: number): string =>
  `process.stdout.write(('o'.repeat(99) + '\\n').repeat(${bytes / 100}), () => console.error('last'));`;

interface SlowLog {
  readonly path: string;
  /** Begins to read; resolves with the number of bytes when the log has been closed. */
  readAll(): Promise<number>;
}

/** A log on a disk that hangs until it is read: a pipe, which takes 64 KiB and no more. */
function makeSlowLog(): SlowLog {
  const path = join(tempFolder(), 'log');
  const program = 'mkfifo';
  execFileSync(program, [path]);
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  let reader: Socket | null = null;
  // A writer that hangs is freed by it, too.
  onTestFinished(() => (reader === null ? closeSync(fd) : void reader.destroy()));
  return {
    path,
    readAll: async () => {
      // Not before: it reads ahead by itself.
      reader = new Socket({ fd, readable: true });
      let bytes = 0;
      for await (const chunk of reader) bytes += (chunk as Buffer).length;
      return bytes;
    },
  };
}

describe('a log that can not be written', () => {
  it.runIf(process.platform === 'linux').each<[string, number]>([
    ['at once', 1_000_000],
    ['in a small piece', 1_000],
  ])('for want of space, %s, costs neither the training nor its end', async (_what, bytes) => {
    const lines: string[] = [];
    const job = { ...scriptJob(tempFolder(), printing(bytes)), logFile: '/dev/full' };
    const run = await startRun(job, { onLine: line => lines.push(line), onProgress: () => {} });
    expect(await run.finished).toMatchObject({ code: 0 });
    expect(lines).toContain('last');
    expect(lines).toHaveLength(bytes / 100 + 1);
  });

  it('at all, costs as little', async () => {
    const lines: string[] = [];
    const folder = tempFolder();
    const job = { ...scriptJob(folder, printing(1_000_000)), logFile: join(folder, 'none/trainer.log') };
    const run = await startRun(job, { onLine: line => lines.push(line), onProgress: () => {} });
    expect(await run.finished).toMatchObject({ code: 0 });
    expect(lines).toHaveLength(10_001);
  });
});

describe.runIf(process.platform !== 'win32')('a disk that hangs', () => {
  it('slows the trainer down instead of piling its output up in memory', async () => {
    const bytes = 20_000_000;
    const log = makeSlowLog();
    let lines = 0;
    const job = { ...scriptJob(tempFolder(), printing(bytes)), logFile: log.path };
    const run = await startRun(job, { onLine: () => (lines += 1), onProgress: () => {} });
    let before = -1;
    await vi.waitFor(
      () => {
        const isStill = lines > 0 && lines === before;
        before = lines;
        expect(isStill).toBe(true);
      },
      { interval: 100, timeout: 5_000 },
    );
    expect(lines).toBeLessThan(bytes / 100 / 10);
    const [{ code }, logged] = await Promise.all([run.finished, log.readAll()]);
    expect(code).toBe(0);
    expect(lines).toBe(bytes / 100 + 1);
    expect(logged).toBe(bytes + 'last\n'.length);
  });

  it('holds the end of a run back until the log is whole', async () => {
    const bytes = 80_000;
    const log = makeSlowLog();
    const said = Promise.withResolvers<void>();
    const job = { ...scriptJob(tempFolder(), printing(bytes)), logFile: log.path };
    let lines = 0;
    const run = await startRun(job, {
      onLine: () => {
        lines += 1;
        if (lines === bytes / 100 + 1) said.resolve();
      },
      onProgress: () => {},
    });
    let isFinished = false;
    void run.finished.then(() => (isFinished = true));
    await said.promise;
    await vi.waitFor(() => expect(() => process.kill(run.pid, 0)).toThrow('ESRCH'), { interval: 5 });
    for (let n = 0; n < 200; n += 1) await turn();
    expect(isFinished).toBe(false);
    expect(await log.readAll()).toBe(bytes + 'last\n'.length);
    await run.finished;
  });
});
