import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Finished, startRun } from '../../../agent/run.ts';
import type { PreparedJob } from '../../../agent/trainer.ts';
import type { Progress } from '../../../protocol/progress.ts';
import { scriptJob, tempFolder, writeFile } from './builders.ts';

interface Heard extends Finished {
  readonly lines: readonly string[];
  readonly progress: readonly Progress[];
}

/** Runs a job to its end and keeps all that was heard of it. */
async function runToEnd(job: PreparedJob): Promise<Heard> {
  const lines: string[] = [];
  const progress: Progress[] = [];
  const run = await startRun(job, {
    onLine: line => lines.push(line),
    onProgress: figures => progress.push(figures),
  });
  return { ...(await run.finished), lines, progress };
}

describe('the output of a trainer', () => {
  it('is read from both streams to the end, and its last lines are kept', async () => {
    const script = `
      for (let n = 1; n <= 12; n += 1) console.log('out ' + n);
      console.error('\\u001b[31mRuntimeError:\\u001b[0m out of memory');
      process.stdout.write('no line break');
      process.exitCode = 3;`;
    const { code, signal, tail, lines } = await runToEnd(scriptJob(tempFolder(), script));
    expect({ code, signal }).toEqual({ code: 3, signal: null });
    expect(lines).toHaveLength(14);
    expect(lines).toContain('out 1');
    expect(lines).toContain('no line break');
    expect(tail.split('\n')).toHaveLength(14);
    expect(tail).toContain('out 12');
    expect(tail).toContain('RuntimeError: out of memory');
  });

  it('is searched for progress, which is no line', async () => {
    const script = `
      console.log('loading');
      console.log(JSON.stringify({ type: 'progress', step: 1, total_steps: 4, loss: 0.5 }));
      process.stderr.write('\\r 50%|█████     | 2/4 [00:01<00:01,  2.00it/s]');
      process.stderr.write('\\r100%|██████████| 4/4 [00:02<00:00,  2.00it/s]\\n');`;
    const { progress, lines } = await runToEnd(scriptJob(tempFolder(), script));
    expect(progress).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ step: 1, total_steps: 4, loss: 0.5 }),
        expect.objectContaining({ step: 2, total_steps: 4, percent: 50 }),
        expect.objectContaining({ step: 4, total_steps: 4, percent: 100 }),
      ]),
    );
    expect(lines).toContain('loading');
    expect(lines.some(line => line.includes('"progress"'))).toBe(false);
  });

  it('of the last moment counts, and by then the log is whole', async () => {
    const folder = tempFolder();
    const job = scriptJob(folder, `process.stdout.write('x'.repeat(999_999) + '\\n'); console.error('last')`);
    const { lines } = await runToEnd(job);
    expect(lines).toContain('last');
    const log = readFileSync(job.logFile);
    expect(log.length).toBe(1_000_000 + 'last\n'.length);
    expect(statSync(job.logFile).mode & 0o777).toBe(0o600);
  });

  it('is kept byte for byte, after that of an earlier attempt', async () => {
    const folder = tempFolder();
    writeFile(folder, 'trainer.log', 'earlier\n');
    const job = scriptJob(folder, `process.stdout.write(Buffer.from([0xff, 0, 0x0d, 0x1b, 0x0a]))`);
    await runToEnd(job);
    expect([...readFileSync(job.logFile)]).toEqual([...Buffer.from('earlier\n'), 0xff, 0, 0x0d, 0x1b, 0x0a]);
  });
});

it('a command that is not there is an error, and leaves no log behind', async () => {
  const folder = tempFolder();
  const job = { ...scriptJob(folder, ''), argv: [join(folder, 'none')] };
  await expect(startRun(job, { onLine: () => {}, onProgress: () => {} })).rejects.toMatchObject({
    code: 'ENOENT',
    path: join(folder, 'none'),
  });
  expect(() => statSync(job.logFile)).toThrow('ENOENT');
});

it('a run can be stopped, and what it said before is kept', async () => {
  const said = Promise.withResolvers<string>();
  const job = scriptJob(tempFolder(), `console.log('ready'); setInterval(() => {}, 1000)`);
  const run = await startRun(job, { onLine: said.resolve, onProgress: () => {} });
  expect(await said.promise).toBe('ready');
  run.stop(60_000);
  expect(await run.finished).toEqual({ code: null, signal: 'SIGTERM', tail: 'ready' });
});

describe('a flood of output', () => {
  const mib = 1024 * 1024;

  it('of 50 MiB holds no timer up, and does not pile up in memory', async () => {
    const script = `
      const block = ('step loss=0.123 lr=1e-4 '.repeat(4) + '\\n').repeat(700);
      let left = ${50 * mib};
      const more = () => {
        while (left > 0) { left -= block.length; if (!process.stdout.write(block)) return process.stdout.once('drain', more); }
      };
      more();`;
    const job = scriptJob(tempFolder(), script);
    const before = process.memoryUsage().rss;
    let [beats, lines, peak] = [0, 0, before];
    const beat = setInterval(() => {
      peak = Math.max(peak, process.memoryUsage().rss);
      beats += 1;
    }, 20);
    const run = await startRun(job, { onLine: () => (lines += 1), onProgress: () => {} });
    const { code } = await run.finished;
    clearInterval(beat);
    expect(code).toBe(0);
    expect(lines).toBeGreaterThan(500_000);
    expect(statSync(job.logFile).size).toBeGreaterThanOrEqual(50 * mib);
    expect(beats).toBeGreaterThan(10);
    expect(peak - before).toBeLessThan(300 * mib);
  });

  it('in one line of 20 MiB is cut where it is told, and whole in the log', async () => {
    const job = scriptJob(tempFolder(), `process.stdout.write('x'.repeat(${20 * mib}))`);
    const { lines, tail } = await runToEnd(job);
    expect(lines.map(line => line.length)).toEqual([64 * 1024]);
    expect(tail.length).toBe(4096);
    expect(statSync(job.logFile).size).toBe(20 * mib);
  });
});
