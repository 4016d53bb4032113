/** The images of the Containerfile and of examples/containers, built and run by buildah. */
import {
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';
import type { ChildProcess } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { baseImages, type Images, missingForImages, openImages } from '../support/images.ts';
import { root } from '../support/processes.ts';

const missing = missingForImages();
if (missing !== null) console.log(`Container images were not built: ${missing}`);

const tenMinutes = 600_000;
/** The user id in all images. */
const uid = 1000;
const [server, worker, simpletuner] = [
  'localhost/trainyard',
  'localhost/trainyard-worker',
  'localhost/trainyard-simpletuner',
];

describe.skipIf(missing !== null)('the container images', { timeout: tenMinutes }, () => {
  let images: Images;
  beforeAll(() => {
    images = openImages();
    const bases = [`NODE_IMAGE=${baseImages.node}`, `DEBIAN_IMAGE=${baseImages.debian}`];
    const options = bases.flatMap(argument => ['--build-arg', argument]);
    images.build(server, [...options, '--target', 'server', '.']);
    images.build(worker, [...options, '--target', 'worker', '.']);
    // SimpleTuner and CUDA are several gigabytes large, so Debian's Python replaces them.
    const trainer = [`TRAINER_IMAGE=${baseImages.debian}`, `WORKER_IMAGE=${worker}`, 'TRAINER_PACKAGES='];
    const folder = 'examples/containers';
    images.build(simpletuner, [
      ...trainer.flatMap(argument => ['--build-arg', argument]),
      '-f',
      `${folder}/simpletuner.Containerfile`,
      folder,
    ]);
  }, 2 * tenMinutes);
  afterAll(() => images.remove());

  test('runs a job in the container images as an ordinary user, with all data on volumes', async () => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const [serverData, workerState] = [volume(), volume()];
    const serverOptions = ['--user', 'node', '-v', `${serverData}:/var/lib/trainyard`];
    const program = ['node', '/opt/trainyard/dist/main/cli.js'];
    const trainyard = (...args: readonly string[]): string =>
      images.run(server, serverOptions, [
        ...program,
        ...args,
        '--data-dir',
        '/var/lib/trainyard',
        '--url',
        url,
      ]);

    const listen = [
      'server',
      '--host',
      '0.0.0.0',
      '--port',
      `${port}`,
      '--ssl',
      '--json',
      '--data-dir',
      '/var/lib/trainyard',
    ];
    const orchestrator = images.start(server, serverOptions, [...program, ...listen]);
    endAfterTest(orchestrator);
    await lineOf(orchestrator, /"ready":true/);

    const joinInstructions = trainyard('workers', 'create', 'rig-1');
    const [token = ''] = /tj_[\w-]+/.exec(joinInstructions) ?? [];
    const [pin = ''] = /sha256:[\w+/=]+/.exec(joinInstructions) ?? [];
    const trainer = join(workerState, 'train.sh');
    writeFileSync(
      trainer,
      '#!/bin/sh\nid -u\nmkdir -p "$1/checkpoint-1" && echo weights >"$1/checkpoint-1/model.bin"\n',
    );
    chownSync(trainer, uid, uid);
    const state = '/var/lib/trainyard-worker';
    const rig = images.start(
      worker,
      ['--user', 'worker', '-v', `${workerState}:${state}`, '-e', `SIMPLETUNER_WORKER_TOKEN=${token}`],
      [
        'trainyard-worker',
        '--persistent',
        '--state-dir',
        state,
        '--name',
        'rig-1',
        '--orchestrator-url',
        `https://127.0.0.1:${port}`,
      ].concat(['--pin', pin, '--trainer', `sh ${state}/train.sh {output_dir}`]),
    );
    endAfterTest(rig);
    const connected = lineOf(rig, /^Connected to/);
    const uploaded = lineOf(rig, /^Uploaded checkpoint-1/);
    await connected;
    mkdirSync(join(serverData, 'configs'), { recursive: true });
    writeFileSync(join(serverData, 'configs/box.json'), '{"note": "container"}');
    expect(trainyard('jobs', 'submit', 'box', '--follow')).toContain('completed');
    await uploaded;
    // The trainer prints its user id.
    expect(trainyard('jobs', 'logs', 'box').split('\n')).toContain(`${uid}`);
    for (const folder of [serverData, workerState])
      for (const name of readdirSync(folder))
        expect({ name, uid: ownerOf(folder, name) }).toEqual({ name, uid });
  });

  test.each([server, worker, simpletuner])(
    'sets a user other than root, a volume, a stop signal and a health check in the image %s',
    image => {
      expect(images.inspect(image)).toMatchObject({
        User: expect.stringMatching(/^(?:node|worker)$/),
        StopSignal: 'SIGTERM',
        Healthcheck: { Test: expect.arrayContaining(['CMD']) },
        Volumes: { [image === server ? '/var/lib/trainyard' : '/var/lib/trainyard-worker']: {} },
      });
    },
  );

  test("starts this checkout's worker and the trainer's Python in the image that adds a trainer to the worker", () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
    const command = [
      'sh',
      '-c',
      'id -u; trainyard-worker --version; /opt/trainer/bin/python -c "print(6 * 7)"',
    ];
    expect(images.run(simpletuner, ['--user', 'worker'], command).split('\n')).toEqual([
      `${uid}`,
      version,
      '42',
    ]);
  });

  test('uses the container images and their volumes in the compose file', () => {
    const file = parse(readFileSync(join(root, 'examples/containers/compose.yaml'), 'utf8')) as ComposeFile;
    expect(Object.values(file.services).map(service => service.image)).toEqual([server, simpletuner]);
    for (const { image, volumes } of Object.values(file.services)) {
      const [name = '', path = ''] = volumes[0]?.split(':') ?? [];
      expect(file.volumes).toHaveProperty([name]);
      expect(images.inspect(image)).toHaveProperty(['Volumes', path]);
    }
  });
});

interface ComposeFile {
  readonly services: Readonly<
    Record<string, { readonly image: string; readonly volumes: readonly string[] }>
  >;
  readonly volumes: Readonly<Record<string, unknown>>;
}

/** Creates a folder owned by the user of the images. */
function volume(): string {
  const folder = mkdtempSync(join(tmpdir(), 'volume-'));
  chownSync(folder, uid, uid);
  return folder;
}

const ownerOf = (folder: string, name: string): number => statSync(join(folder, name)).uid;

async function freePort(): Promise<number> {
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const address = listener.address();
  listener.close();
  await once(listener, 'close');
  if (address === null || typeof address === 'string') throw new Error('the listener has no port');
  return address.port;
}

function endAfterTest(child: ChildProcess): void {
  const ended = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGTERM');
    await ended;
  });
}

/** Resolves with the first line that matches the pattern. Rejects when the container ends without such a line. */
function lineOf(child: ChildProcess, pattern: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr])
      if (stream !== null)
        createInterface({ input: stream }).on('line', line => {
          if (pattern.test(line)) resolve(line);
        });
    child.once('exit', code => reject(new Error(`the container has ended with ${code} without ${pattern}`)));
  });
}
