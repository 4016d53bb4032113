import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type CommandPorts, runCommand } from '../../../../examples/digits/command.ts';
import { makeDataFolder, makeFolder } from './builders.ts';

const CONFIG = { epochs: 3, batch_size: 8, learning_rate: 0.1, hidden: 6, checkpoint_every: 1000 };

async function prepare(changes: Record<string, unknown> = {}) {
  const folder = await makeFolder();
  const config = join(folder, 'config.json');
  const output = join(folder, 'output');
  await mkdir(output);
  await writeFile(config, JSON.stringify({ ...CONFIG, ...changes }));
  return { output, argv: ['--config', config, '--output', output, '--data', await makeDataFolder()] };
}

/** Runs a training whose clock advances one second at each reading, so that each periodic check is due. */
async function runDigits(argv: readonly string[], ports: Partial<CommandPorts> = {}) {
  const printed: string[] = [];
  const errors: string[] = [];
  let clockMs = 0;
  const code = await runCommand(argv, {
    print: line => printed.push(line),
    printError: line => errors.push(line),
    now: () => (clockMs += 1000),
    stop: new AbortController().signal,
    ...ports,
  });
  return { code, printed, errors };
}

/** Returns a function that requests a checkpoint after this step. The training calls this function once per step. */
function requestAfter(step: number): () => boolean {
  let steps = 0;
  return () => {
    steps += 1;
    return steps === step;
  };
}

/** Starts an upload endpoint that answers each upload with this status. */
async function startUploadServer(status = 200) {
  const uploads: string[] = [];
  const server = http.createServer((request, response) => {
    request.resume().once('end', () => {
      uploads.push(`${request.method} ${request.url} ${String(request.headers['x-upload-token'])}`);
      response.writeHead(status).end('the response');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return { uploads, destination: { endpoint: `http://127.0.0.1:${port}/api/cloud/storage`, token: 'u1' } };
}

/**
 * Returns only the weights and velocities of the last checkpoint, because its header contains the training time. The
 * file ends with a weight and a velocity of 4 bytes per parameter, and a checksum of 32 bytes.
 */
async function weightsOf(output: string): Promise<string> {
  const parameters = 25 * 6 + 6 + 6 * 10 + 10;
  const file = await readFile(join(output, 'checkpoint-000024.bin'));
  return file.subarray(-32 - 2 * 4 * parameters, -32).toString('hex');
}

describe('a requested checkpoint', () => {
  test('writes a requested checkpoint after the current step, and uploads it immediately', async () => {
    const { argv, output } = await prepare();
    const { uploads, destination } = await startUploadServer();
    const { code, printed } = await runDigits(argv, { consumeSaveRequest: requestAfter(7), destination });
    expect(code).toBe(0);
    expect(await readdir(output)).toContain('checkpoint-000007.bin');
    expect(printed).toContain('saved checkpoint-000007.bin as asked');
    expect(printed).toContain('uploaded checkpoint-000007.bin');
    expect(printed).not.toContain('wrote checkpoint-000007.bin');
    expect(uploads).toEqual([
      'PUT /api/cloud/storage/outputs/checkpoint-000007.bin u1',
      'PUT /api/cloud/storage/outputs/checkpoint-000024.bin u1',
      'PUT /api/cloud/storage/outputs/result.json u1',
    ]);
  });

  test('learns the same weights with and without requested checkpoints and samples', async () => {
    const plain = await prepare();
    await runDigits(plain.argv);
    const withRequests = await prepare({ samples: true });
    await runDigits(withRequests.argv, { consumeSaveRequest: requestAfter(11) });
    expect(await weightsOf(withRequests.output)).toBe(await weightsOf(plain.output));
    const resumed = await prepare();
    const { printed } = await runDigits([
      ...resumed.argv,
      '--resume-from',
      join(withRequests.output, 'checkpoint-000011.bin'),
    ]);
    expect(printed[0]).toBe('continuing after step 11');
    expect(await weightsOf(resumed.output)).toBe(await weightsOf(plain.output));
  });

  test('keeps a checkpoint that cannot be uploaded, and continues the training', async () => {
    const { argv, output } = await prepare();
    const { destination } = await startUploadServer(503);
    const { code, errors } = await runDigits(argv, { consumeSaveRequest: requestAfter(3), destination });
    expect(code).toBe(0);
    expect(errors[0]).toBe('digits: checkpoint-000003.bin was rejected: 503 the response');
    expect(existsSync(join(output, 'checkpoint-000003.bin'))).toBe(true);
  });
});

describe('samples', () => {
  test('draws samples when sample.now exists, and deletes that file', async () => {
    const { argv, output } = await prepare();
    const { uploads, destination } = await startUploadServer();
    await writeFile(join(output, 'sample.now'), '');
    const { printed } = await runDigits(argv, { destination });
    expect(printed).toContain('drew samples/sample-000001.png');
    expect(printed).toContain('uploaded samples/sample-000001.png');
    expect(uploads[0]).toBe('PUT /api/cloud/storage/outputs/samples/sample-000001.png u1');
    expect(await readdir(join(output, 'samples'))).toEqual(['sample-000001.png']);
    expect(await readdir(output)).not.toContain('sample.now');
    const png = await readFile(join(output, 'samples', 'sample-000001.png'));
    // The size of a picture of forty images with 5 x 5 pixels.
    expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([94, 88]);
  });

  test('draws samples after each epoch only with samples: true in the config', async () => {
    const { argv, output } = await prepare({ samples: true });
    await runDigits(argv);
    expect(await readdir(join(output, 'samples'))).toEqual([
      'sample-000008.png',
      'sample-000016.png',
      'sample-000024.png',
    ]);
    const withoutSamples = await prepare();
    await runDigits(withoutSamples.argv);
    expect(await readdir(withoutSamples.output)).not.toContain('samples');
  });

  test('reports samples that cannot be written, and continues the training', async () => {
    const { argv, output } = await prepare();
    await writeFile(join(output, 'sample.now'), '');
    await writeFile(join(output, 'samples'), 'a file in place of the folder');
    const { code, errors } = await runDigits(argv);
    expect([code, errors]).toEqual([
      0,
      [expect.stringMatching(/^digits: cannot write sample-000001\.png: EEXIST/)],
    ]);
    expect(await readdir(output)).not.toContain('sample.now');
  });

  test('draws no samples when sample.now is a folder', async () => {
    const { argv, output } = await prepare();
    await mkdir(join(output, 'sample.now'));
    expect((await runDigits(argv)).code).toBe(0);
    expect(await readdir(output)).not.toContain('samples');
  });
});

test('saves a checkpoint on SIGUSR1 during training, and still stops on SIGTERM', async () => {
  const { argv, output } = await prepare({ epochs: 1000, batch_size: 1, hidden: 512 });
  const entry = new URL('../../../../examples/digits/train.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, [entry, ...argv], { stdio: ['ignore', 'pipe', 'inherit'] });
  const saved: string[] = [];
  let isRequested = false;
  for await (const line of createInterface(child.stdout)) {
    if (!isRequested && line.includes('"progress"')) isRequested = child.kill('SIGUSR1');
    const [, name] = /^saved (checkpoint-\d+\.bin) as asked$/.exec(line) ?? [];
    if (name === undefined) continue;
    saved.push(name);
    child.kill('SIGTERM');
  }
  if (child.exitCode === null) await once(child, 'exit');
  expect([child.exitCode, child.signalCode]).toEqual([143, null]);
  expect(saved).toHaveLength(1);
  expect(await readdir(output)).toContain(saved[0]);
});
