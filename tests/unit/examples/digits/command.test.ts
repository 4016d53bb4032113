import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, test } from 'vitest';
import { runCommand } from '../../../../examples/digits/command.ts';
import { makeDataFolder, makeFolder } from './builders.ts';

const CONFIG = {
  epochs: 3,
  batch_size: 8,
  learning_rate: 0.1,
  hidden: 6,
  checkpoint_every: 5,
  keep_checkpoints: 2,
};

/** Writes a config into a new folder. Returns the arguments for a training on the images of `makeDigits`. */
async function prepare(changes: Record<string, unknown> = {}) {
  const folder = await makeFolder();
  const config = join(folder, 'config.json');
  const output = join(folder, 'job', 'output');
  await writeFile(config, JSON.stringify({ ...CONFIG, ...changes }));
  return { output, argv: ['--config', config, '--output', output, '--data', await makeDataFolder()] };
}

async function runDigits(argv: readonly string[], stopAtLine?: RegExp) {
  const stop = new AbortController();
  const printed: string[] = [];
  const errors: string[] = [];
  const code = await runCommand(argv, {
    print: line => {
      printed.push(line);
      if (stopAtLine?.test(line) === true) stop.abort();
    },
    printError: line => errors.push(line),
    now: () => performance.now(),
    stop: stop.signal,
  });
  return { code, printed, error: errors.join('\n') };
}

describe('the digits command', () => {
  test('prints progress and the result, and keeps the result and the newest checkpoints', async () => {
    const { output, argv } = await prepare();
    const { code, printed, error } = await runDigits([...argv, '--resume-from', '']);
    expect([code, error]).toEqual([0, '']);
    expect((await readdir(output)).toSorted()).toEqual([
      'checkpoint-000020.bin',
      'checkpoint-000024.bin',
      'result.json',
    ]);
    const checkpoint = join(output, 'checkpoint-000024.bin');
    const result: unknown = JSON.parse(await readFile(join(output, 'result.json'), 'utf8'));
    expect(result).toEqual({
      accuracy: expect.any(Number) as number,
      steps: 24,
      epochs: 3,
      train_seconds: expect.any(Number) as number,
      checkpoint,
    });
    const lines = printed
      .filter(line => line.startsWith('{'))
      .map(line => JSON.parse(line) as { type: string });
    expect(lines[0]).toEqual({
      type: 'progress',
      step: 1,
      total_steps: 24,
      epoch: 1,
      loss: expect.any(Number) as number,
      learning_rate: 0.1,
      steps_per_second: expect.any(Number) as number,
    });
    expect(lines.at(-2)).toMatchObject({ type: 'progress', step: 24 });
    expect(lines.at(-1)).toEqual({
      type: 'result',
      accuracy: (result as { accuracy: number }).accuracy,
      checkpoint,
    });
    expect(printed.at(-1)).toBe(JSON.stringify(lines.at(-1)));
  });

  test('stops with a checkpoint, and reaches the same weights when resumed from this checkpoint', async () => {
    const { output, argv } = await prepare();
    await runDigits(argv);
    const end = await readFile(join(output, 'checkpoint-000024.bin'));

    const stopped = await prepare();
    const first = await runDigits(stopped.argv, /wrote checkpoint-000010/);
    expect(first.code).toBe(143);
    expect((await readdir(stopped.output)).toSorted()).toEqual([
      'checkpoint-000005.bin',
      'checkpoint-000010.bin',
    ]);
    const second = await runDigits([
      ...stopped.argv,
      '--resume-from',
      join(stopped.output, 'checkpoint-000010.bin'),
    ]);
    expect(second.code).toBe(0);
    expect(second.printed[0]).toBe('continuing after step 10');
    expect(second.printed.find(line => line.includes('"progress"'))).toContain('"step":11,');
    const resumedEnd = await readFile(join(stopped.output, 'checkpoint-000024.bin'));
    // Compares only the weights and velocities, because the header contains the training time.
    // The file ends with a weight and a velocity of 4 bytes per parameter, and a checksum of 32 bytes.
    const parameters = 25 * 6 + 6 + 6 * 10 + 10;
    const weightsOf = (file: Buffer) => file.subarray(-32 - 2 * 4 * parameters, -32).toString('hex');
    expect(weightsOf(resumedEnd)).toBe(weightsOf(end));
  });

  test('fails with the cause and a hint when the training diverges', async () => {
    const { argv, output } = await prepare({ learning_rate: 100 });
    const { code, error } = await runDigits(argv);
    expect(code).toBe(1);
    expect(error).toMatch(/^digits: the training diverged at step \d+.*Lower learning_rate/);
    expect(await readdir(output)).not.toContain('result.json');
  });

  test('fails with the reason when a checkpoint cannot be written, and keeps earlier checkpoints', async () => {
    const { argv, output } = await prepare();
    await mkdir(join(output, 'checkpoint-000010.bin'), { recursive: true });
    const { code, error } = await runDigits(argv);
    expect([code, error]).toEqual([1, expect.stringContaining(`cannot write to ${output}: EISDIR`)]);
    expect((await readdir(output)).toSorted()).toEqual(['checkpoint-000005.bin', 'checkpoint-000010.bin']);
  });
});

describe('the digits command with invalid input', () => {
  test('exits with code 2 for a damaged checkpoint and for a checkpoint of another config', async () => {
    const { argv, output } = await prepare();
    await runDigits(argv);
    const path = join(output, 'checkpoint-000024.bin');
    const otherConfig = await prepare({ hidden: 7 });
    const foreign = await runDigits([...otherConfig.argv, '--resume-from', path]);
    expect([foreign.code, foreign.printed]).toEqual([2, []]);
    expect(foreign.error).toContain('belongs to another run: its hidden is 6, but this run has 7');
    await writeFile(path, (await readFile(path)).subarray(0, -1));
    const damaged = await runDigits([...argv, '--resume-from', path]);
    expect([damaged.code, damaged.printed]).toEqual([2, []]);
    expect(damaged.error).toContain(`${path} is damaged or incomplete`);
  });

  test('exits with code 2 for an invalid config, missing data or a file as output', async () => {
    const { argv } = await prepare({ epochs: 0 });
    const config = await runDigits(argv);
    expect([config.code, config.error]).toEqual([2, expect.stringContaining('"epochs" must be')]);
    const valid = await prepare();
    const data = await runDigits([...valid.argv, '--data', '/nowhere']);
    expect([data.code, data.error]).toEqual([2, expect.stringContaining('/nowhere/train-images')]);
    const output = await runDigits([...valid.argv, '--output', import.meta.filename]);
    expect([output.code, output.error]).toEqual([
      2,
      expect.stringContaining('cannot create the output folder'),
    ]);
  });

  test('exits with code 2 and prints the usage for missing or unknown arguments', async () => {
    for (const argv of [[], ['--config', 'x.json'], ['--output', '/tmp', '--config', ''], ['--speed', '9']]) {
      const { code, error } = await runDigits(argv);
      expect([code, error]).toEqual([2, expect.stringContaining('usage: node train.ts --config FILE')]);
    }
  });
});

test('exits with code 143 and a checkpoint of the current step on SIGTERM', async () => {
  const { argv, output } = await prepare({
    epochs: 1000,
    batch_size: 1,
    hidden: 512,
    checkpoint_every: 1_000_000,
  });
  const entry = new URL('../../../../examples/digits/train.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, [entry, ...argv], { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines: string[] = [];
  for await (const line of createInterface(child.stdout)) {
    lines.push(line);
    if (line.includes('"progress"')) child.kill('SIGTERM');
  }
  if (child.exitCode === null) await once(child, 'exit');
  expect([child.exitCode, child.signalCode]).toEqual([143, null]);
  const [name = ''] = await readdir(output);
  expect(name).toMatch(/^checkpoint-\d{6}\.bin$/);
  expect(lines.at(-1)).toBe(
    `stopped after step ${Number(name.slice(11, 17))}; --resume-from ${join(output, name)} continues from here`,
  );
});
