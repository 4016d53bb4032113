import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { scriptJob, tempFolder, writeFile } from '../builders.ts';
import { startGuardInProcess, runToEnd } from '../guard-fixture.ts';

describe('output of a trainer', () => {
  it('reads both output streams to the end, and keeps the last lines', async () => {
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

  it('reads progress from both output streams, and excludes JSON progress from the lines', async () => {
    const script = `
      console.log('loading');
      console.log(JSON.stringify({ type: 'progress', step: 1, total_steps: 4, loss: 0.5 }));
      process.stderr.write('\\r 50%|█████     | 2/4 [00:01<00:01,  2.00it/s]');
      process.stderr.write('\\r100%|██████████| 4/4 [00:02<00:00,  2.00it/s]\\n');`;
    const { progress, lines } = await runToEnd(scriptJob(tempFolder(), script));
    // Progress is reported in batches. The figures of later batches overwrite the figures of earlier batches.
    expect(Object.assign({}, ...progress)).toMatchObject({
      step: 4,
      total_steps: 4,
      loss: 0.5,
      percent: 100,
    });
    expect(lines).toContain('loading');
    expect(lines.some(line => line.includes('"progress"'))).toBe(false);
  });

  it('finds the link to a run at an experiment tracker in coloured output', async () => {
    const script = `console.log('\\u001b[34mwandb\\u001b[0m: View run at \\u001b[4mhttps://wandb.ai/a/b/runs/c\\u001b[0m')`;
    const links: object[] = [];
    const job = scriptJob(tempFolder(), script);
    await startGuardInProcess(job).attend({ onLink: link => void links.push(link) }).finished;
    expect(links).toEqual([{ kind: 'wandb', url: 'https://wandb.ai/a/b/runs/c' }]);
  });

  it('reads and logs all output up to the end of the trainer', async () => {
    const folder = tempFolder();
    const job = scriptJob(folder, `process.stdout.write('x'.repeat(999_999) + '\\n'); console.error('last')`);
    const { lines } = await runToEnd(job);
    expect(lines).toContain('last');
    const log = readFileSync(job.logFile, 'utf8');
    expect(log.replaceAll(/[^x]/g, '')).toHaveLength(999_999);
    expect(log).toContain('last\n');
    expect(statSync(job.logFile).mode & 0o777).toBe(0o600);
  });

  it('appends output to the log of an earlier attempt, byte for byte', async () => {
    const folder = tempFolder();
    writeFile(folder, 'trainer.log', 'earlier\n');
    const job = scriptJob(folder, `process.stdout.write(Buffer.from([0xff, 0, 0x0d, 0x1b, 0x0a]))`);
    await runToEnd(job);
    expect([...readFileSync(job.logFile)]).toEqual([...Buffer.from('earlier\n'), 0xff, 0, 0x0d, 0x1b, 0x0a]);
  });
});

it('ends the run with a start error when the command is missing, and creates no log', async () => {
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

it('returns the last output lines of a stopped run', async () => {
  const firstLine = Promise.withResolvers<string>();
  const job = scriptJob(tempFolder(), `console.log('ready'); setInterval(() => {}, 1000)`);
  const run = startGuardInProcess(job).attend({ onLine: firstLine.resolve });
  expect(await firstLine.promise).toBe('ready');
  run.stop('cancel', 60_000);
  expect(await run.finished).toEqual({
    code: null,
    signal: 'SIGTERM',
    stopped: 'cancel',
    startError: null,
    tail: 'ready',
  });
});

describe('large outputs', () => {
  const mib = 1024 * 1024;
  const sizeOf = (file: string): number => statSync(file).size;

  it('reads 50 MiB of output with bounded memory and two bounded log files', async () => {
    const script = `
      const block = ('step loss=0.123 lr=1e-4 '.repeat(4) + '\\n').repeat(700);
      let left = ${50 * mib};
      const writeMore = () => {
        while (left > 0) { left -= block.length; if (!process.stdout.write(block)) return process.stdout.once('drain', writeMore); }
      };
      writeMore();`;
    const job = scriptJob(tempFolder(), script);
    const before = process.memoryUsage().rss;
    // Counts how often the event loop runs this timer, because reading the output must not block it.
    let [timerRuns, peak] = [0, before];
    const timer = setInterval(() => {
      peak = Math.max(peak, process.memoryUsage().rss);
      timerRuns += 1;
    }, 20);
    const { exit, lines } = await runToEnd(job, { logMaxBytes: 8 * mib });
    clearInterval(timer);
    expect(exit.code).toBe(0);
    // When the trainer prints faster than the agent reads, the agent keeps the newest output.
    expect(lines.length).toBeGreaterThan(50_000);
    for (const file of [job.logFile, `${job.logFile}.1`]) expect(sizeOf(file)).toBeLessThan(9 * mib);
    expect(sizeOf(job.logFile) + sizeOf(`${job.logFile}.1`)).toBeGreaterThan(8 * mib);
    expect(timerRuns).toBeGreaterThan(10);
    expect(peak - before).toBeLessThan(300 * mib);
  });

  it('cuts a line of 20 MiB in the reported output, and logs the whole line', async () => {
    const job = scriptJob(tempFolder(), `process.stdout.write('x'.repeat(${20 * mib}))`);
    const { exit, lines } = await runToEnd(job);
    expect(lines.map(line => line.length)).toEqual([64 * 1024]);
    expect(exit.tail.length).toBe(4096);
    expect(sizeOf(job.logFile)).toBe(20 * mib);
  });
});
