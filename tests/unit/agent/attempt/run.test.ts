import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { scriptJob, tempFolder, writeFile } from '../builders.ts';
import { guardHere, runToEnd } from '../guard-bench.ts';

describe('the output of a trainer', () => {
  it('is read from both streams to the end, and its last lines are kept', async () => {
    const script = `
      for (let n = 1; n <= 12; n += 1) console.log('out ' + n);
      console.error('\\u001b[31mRuntimeError:\\u001b[0m out of memory');
      process.stdout.write('no line break');
      process.exitCode = 3;`;
    const { exit, lines } = await runToEnd(scriptJob(tempFolder(), script));
    expect(exit).toMatchObject({ code: 3, signal: null, stopped: null, startError: null });
    expect(lines).toHaveLength(14);
    expect(lines).toContain('out 1');
    expect(lines).toContain('no line break');
    expect(exit.tail.split('\n')).toHaveLength(14);
    expect(exit.tail).toContain('out 12');
    expect(exit.tail).toContain('RuntimeError: out of memory');
  });

  it('is searched for progress, which is no line, and neither stream hides what the other says', async () => {
    const script = `
      console.log('loading');
      console.log(JSON.stringify({ type: 'progress', step: 1, total_steps: 4, loss: 0.5 }));
      process.stderr.write('\\r 50%|█████     | 2/4 [00:01<00:01,  2.00it/s]');
      process.stderr.write('\\r100%|██████████| 4/4 [00:02<00:00,  2.00it/s]\\n');`;
    const { progress, lines } = await runToEnd(scriptJob(tempFolder(), script));
    // Progress is reported in batches. Each batch contains the newest figures.
    expect(Object.assign({}, ...progress)).toMatchObject({
      step: 4,
      total_steps: 4,
      loss: 0.5,
      percent: 100,
    });
    expect(lines).toContain('loading');
    expect(lines.some(line => line.includes('"progress"'))).toBe(false);
  });

  it('of the last moment counts, and by then the log is whole', async () => {
    const folder = tempFolder();
    const job = scriptJob(folder, `process.stdout.write('x'.repeat(999_999) + '\\n'); console.error('last')`);
    const { lines } = await runToEnd(job);
    expect(lines).toContain('last');
    const log = readFileSync(job.logFile, 'utf8');
    expect(log.replaceAll(/[^x]/g, '')).toHaveLength(999_999);
    expect(log).toContain('last\n');
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

it('a command that is not there is an end, too, and leaves no log behind', async () => {
  const folder = tempFolder();
  const job = { ...scriptJob(folder, ''), argv: [join(folder, 'none')] };
  const { exit } = await runToEnd(job);
  expect(exit).toEqual({
    code: null,
    signal: null,
    stopped: null,
    startError: expect.stringContaining(`No trainer found: ${join(folder, 'none')} is not on this machine`),
    tail: '',
  });
  expect(() => statSync(job.logFile)).toThrow('ENOENT');
});

it('a run can be stopped, and what it said before is kept', async () => {
  const said = Promise.withResolvers<string>();
  const job = scriptJob(tempFolder(), `console.log('ready'); setInterval(() => {}, 1000)`);
  const run = guardHere(job).attend({ onLine: said.resolve });
  expect(await said.promise).toBe('ready');
  run.stop('cancel', 60_000);
  expect(await run.finished).toEqual({
    code: null,
    signal: 'SIGTERM',
    stopped: 'cancel',
    startError: null,
    tail: 'ready',
  });
});

describe('a flood of output', () => {
  const mib = 1024 * 1024;
  const sizeOf = (file: string): number => statSync(file).size;

  it('of 50 MiB holds no timer up, does not pile up in memory, and is kept in two files of a bounded size', async () => {
    const script = `
      const block = ('step loss=0.123 lr=1e-4 '.repeat(4) + '\\n').repeat(700);
      let left = ${50 * mib};
      const more = () => {
        while (left > 0) { left -= block.length; if (!process.stdout.write(block)) return process.stdout.once('drain', more); }
      };
      more();`;
    const job = scriptJob(tempFolder(), script);
    const before = process.memoryUsage().rss;
    let [beats, peak] = [0, before];
    const beat = setInterval(() => {
      peak = Math.max(peak, process.memoryUsage().rss);
      beats += 1;
    }, 20);
    const { exit, lines } = await runToEnd(job, { logMaxBytes: 8 * mib });
    clearInterval(beat);
    expect(exit.code).toBe(0);
    // When output comes faster than it can be read, the newest is kept.
    expect(lines.length).toBeGreaterThan(50_000);
    for (const file of [job.logFile, `${job.logFile}.1`]) expect(sizeOf(file)).toBeLessThan(9 * mib);
    expect(sizeOf(job.logFile) + sizeOf(`${job.logFile}.1`)).toBeGreaterThan(8 * mib);
    expect(beats).toBeGreaterThan(10);
    expect(peak - before).toBeLessThan(300 * mib);
  });

  it('in one line of 20 MiB is cut where it is told, and whole in the log', async () => {
    const job = scriptJob(tempFolder(), `process.stdout.write('x'.repeat(${20 * mib}))`);
    const { exit, lines } = await runToEnd(job);
    expect(lines.map(line => line.length)).toEqual([64 * 1024]);
    expect(exit.tail.length).toBe(4096);
    expect(sizeOf(job.logFile)).toBe(20 * mib);
  });
});
