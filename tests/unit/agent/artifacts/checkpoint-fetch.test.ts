import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Fetched, fetchCheckpoint } from '../../../../agent/artifacts/checkpoint-fetch.ts';
import { formatBytes } from '../../../../agent/files/failure-text.ts';
import { tempFolder } from '../builders.ts';
import {
  createInstantClock,
  createStorageServer,
  refusalOf,
  sha256Of,
  type StorageServer,
} from '../storage-server.ts';

const file = 'checkpoint-000500.bin';
const folder = 'run/checkpoint-500';
const manifestOf = (files: Readonly<Record<string, string>>): string =>
  JSON.stringify({
    files: Object.entries(files).map(([path, text]) => ({
      path,
      bytes: text.length,
      sha256: sha256Of(text),
    })),
  });
/** The files of a checkpoint folder, as the orchestrator stores them. */
const folderWith = (files: Readonly<Record<string, string>>): Record<string, string> => ({
  ...Object.fromEntries(Object.entries(files).map(([path, text]) => [`${folder}/${path}`, text])),
  [`${folder}/checkpoint-manifest.json`]: manifestOf(files),
});

function startFetch(
  server: StorageServer,
  checkpoint: string,
  outputDir = tempFolder(),
  abort = new AbortController(),
) {
  const deps = {
    storage: server.storage,
    clock: createInstantClock(),
    random: () => 0,
    signal: abort.signal,
  };
  const fetched = fetchCheckpoint({ checkpoint, step: 500 }, outputDir, deps);
  return { fetched, outputDir, read: (path: string) => readFileSync(join(outputDir, path), 'utf8') };
}
const downloadsOf = ({ calls }: StorageServer): readonly string[] =>
  calls.filter(call => call.startsWith('GET'));
const failure = (message: string | RegExp): Fetched => ({
  kind: 'failed',
  message: expect.stringMatching(message) as string,
});

describe('checkpoint files', () => {
  it('downloads a checkpoint file with a private mode, and reports its size', async () => {
    const { fetched, outputDir, read } = startFetch(
      createStorageServer({ [file]: 'x'.repeat(1_234_567) }),
      file,
    );
    expect(await fetched).toEqual({
      kind: 'ready',
      message: `Resuming from ${file} (step 500), 1.2 MB fetched`,
    });
    expect(read(file)).toHaveLength(1_234_567);
    expect(statSync(join(outputDir, file)).mode & 0o777).toBe(0o600);
    expect(readdirSync(outputDir)).toEqual([file]);
  });

  it('keeps a complete checkpoint file, and replaces a file with other content', async () => {
    const server = createStorageServer({ [file]: 'right' });
    const outputDir = tempFolder();
    writeFileSync(join(outputDir, file), 'right');
    expect(await startFetch(server, file, outputDir).fetched).toMatchObject({
      message: `Resuming from ${file} (step 500), which is already on this rig`,
    });
    expect(downloadsOf(server)).toEqual([]);
    writeFileSync(join(outputDir, file), 'wrong');
    const { fetched, read } = startFetch(server, file, outputDir);
    await fetched;
    expect(read(file)).toBe('right');
  });

  it('resumes a download that a broken connection or an earlier attempt left incomplete', async () => {
    const server = createStorageServer({ [file]: '0123456789abcdef' });
    server.fail(`GET ${file}`, 'cut', refusalOf(503), 'cut');
    const { fetched, read } = startFetch(server, file);
    expect(await fetched).toMatchObject({ kind: 'ready' });
    expect(read(file)).toBe('0123456789abcdef');
    expect(downloadsOf(server)).toEqual([0, 8, 8, 12].map(offset => `GET ${file} ${offset}`));
    const outputDir = tempFolder();
    writeFileSync(join(outputDir, `.${file}.fetching`), '0123');
    await startFetch(server, file, outputDir).fetched;
    expect(downloadsOf(server).at(-1)).toBe(`GET ${file} 4`);
  });

  it('downloads a checkpoint with a wrong digest once more, and then gives up', async () => {
    const outputDir = tempFolder();
    // A partial download with other content is left from an earlier attempt.
    writeFileSync(join(outputDir, `.${file}.fetching`), 'zzzz');
    const server = createStorageServer({ [file]: '01234567' });
    const { fetched, read } = startFetch(server, file, outputDir);
    expect(await fetched).toMatchObject({ kind: 'ready' });
    expect(read(file)).toBe('01234567');
    const { storage } = createStorageServer({ [file]: 'true' });
    const wrongDigest: StorageServer = {
      ...server,
      storage: {
        ...storage,
        progress: async () => ({ ok: true, value: { offset: 4, total: 4, sha256: sha256Of('lies') } }),
      },
    };
    const second = startFetch(wrongDigest, file);
    expect(await second.fetched).toEqual(
      failure(
        /^Checkpoint checkpoint-000500.bin cannot be used to resume: .*was downloaded 2 times.*Delete that checkpoint/,
      ),
    );
    expect(readdirSync(second.outputDir)).toEqual([]);
  });

  it("downloads ai-toolkit's optimizer state with the weights if the server has both", async () => {
    const weights = 'dog/dog_000000250.safetensors';
    const server = createStorageServer({
      [weights]: 'weights',
      'dog/optimizer.pt': 'state',
      'dog/other.pt': 'x',
    });
    const { fetched, outputDir, read } = startFetch(server, weights);
    expect(await fetched).toMatchObject({ kind: 'ready' });
    expect(readdirSync(join(outputDir, 'dog')).toSorted()).toEqual([
      'dog_000000250.safetensors',
      'optimizer.pt',
    ]);
    expect([read(weights), read('dog/optimizer.pt')]).toEqual(['weights', 'state']);
    expect(await startFetch(createStorageServer({ [weights]: 'weights' }), weights).fetched).toMatchObject({
      kind: 'ready',
    });
  });

  it('reports a checkpoint that is missing or that the server refuses', async () => {
    expect(await startFetch(createStorageServer(), file).fetched).toEqual(
      failure(/neither the file nor checkpoint-manifest.json/),
    );
    const refusing = createStorageServer({ [file]: 'x' });
    refusing.failAll('', refusalOf(401));
    expect(await startFetch(refusing, file).fetched).toEqual(failure(/refused with 401/));
  });

  it('stops a checkpoint download when it is aborted', async () => {
    const server = createStorageServer({ [file]: '01234567' });
    server.failAll('GET', 'cut');
    const abort = new AbortController();
    server.onCall = () => {
      if (server.calls.length > 3) abort.abort();
    };
    expect(await startFetch(server, file, tempFolder(), abort).fetched).toEqual({ kind: 'aborted' });
  });

  it('reports a checkpoint that cannot be written to the disk', async () => {
    const outputDir = join(tempFolder(), 'none');
    expect(await startFetch(createStorageServer({ [file]: 'x' }), file, outputDir).fetched).toEqual(
      failure(/ENOENT/),
    );
  });
});

describe('checkpoint folders', () => {
  const files = { 'model.bin': 'weights', 'deep/er/.metadata': 'where', empty: '' };

  it('downloads a checkpoint folder, which appears in the output folder only when it is complete', async () => {
    const server = createStorageServer(folderWith(files));
    const { fetched, outputDir, read } = startFetch(server, folder);
    server.onCall = () => expect(existsSync(join(outputDir, folder))).toBe(false);
    expect(await fetched).toEqual({
      kind: 'ready',
      message: `Resuming from ${folder} (step 500), 12 bytes fetched`,
    });
    for (const [path, text] of Object.entries(files)) expect(read(join(folder, path))).toBe(text);
    expect(readdirSync(join(outputDir, 'run'))).toEqual(['checkpoint-500']);
    expect(readdirSync(join(outputDir, folder)).toSorted()).toEqual(['deep', 'empty', 'model.bin']);
  });

  it('keeps valid files of a checkpoint folder, replaces invalid files, and removes extra files', async () => {
    const server = createStorageServer(folderWith(files));
    const outputDir = tempFolder();
    mkdirSync(join(outputDir, folder), { recursive: true });
    writeFileSync(join(outputDir, folder, 'model.bin'), 'weights');
    writeFileSync(join(outputDir, folder, 'empty'), 'not empty');
    writeFileSync(join(outputDir, folder, 'extra'), '');
    const { fetched, read } = startFetch(server, folder, outputDir);
    expect(await fetched).toMatchObject({ kind: 'ready' });
    expect(downloadsOf(server).some(call => call.includes('model.bin'))).toBe(false);
    expect([read(`${folder}/model.bin`), read(`${folder}/empty`)]).toEqual(['weights', '']);
    expect(existsSync(join(outputDir, folder, 'extra'))).toBe(false);
    expect(await startFetch(server, folder, outputDir).fetched).toMatchObject({
      message: expect.stringMatching(/already on this rig/) as string,
    });
  });

  const manifestWithPaths = (...paths: readonly string[]): string =>
    JSON.stringify({ files: paths.map(path => ({ path, bytes: 1, sha256: sha256Of('x') })) });
  const invalidPaths = [
    '../../escape',
    '/etc/passwd',
    'a/../../b',
    'a\\..\\b',
    'C:x',
    'con',
    '',
    'a//b',
    'a\0b',
  ];

  it.each<readonly [string, string]>([
    ['invalid JSON', 'nonsense'],
    ['no files', '{"files":[]}'],
    ['invalid digests', JSON.stringify({ files: [{ path: 'a', bytes: 1, sha256: 'x' }] })],
    ['a repeated path', manifestWithPaths('a', 'a')],
    ...invalidPaths.map((path): [string, string] => [
      `the path ${JSON.stringify(path)}`,
      manifestWithPaths(path),
    ]),
  ])('rejects a checkpoint manifest with %s', async (_title, manifest) => {
    const server = createStorageServer({ [`${folder}/checkpoint-manifest.json`]: manifest });
    const { fetched, outputDir } = startFetch(server, folder);
    expect(await fetched).toEqual(failure(/checkpoint-manifest.json (?:is invalid|has an invalid path)/));
    expect(readdirSync(outputDir)).toEqual([]);
  });

  it.each(['run', join('run', '.checkpoint-500.fetching'), join('run', '.checkpoint-500.fetching', 'deep')])(
    'does not write a checkpoint through the link %s',
    async path => {
      const [outputDir, elsewhere] = [tempFolder(), tempFolder()];
      mkdirSync(join(outputDir, path, '..'), { recursive: true });
      symlinkSync(elsewhere, join(outputDir, path));
      const { fetched } = startFetch(createStorageServer(folderWith(files)), folder, outputDir);
      expect(await fetched).toEqual(failure(/exists and is not a folder/));
      expect(readdirSync(elsewhere)).toEqual([]);
    },
  );

  it('replaces a link in a checkpoint folder with the real file', async () => {
    const [outputDir, elsewhere] = [tempFolder(), tempFolder()];
    mkdirSync(join(outputDir, folder), { recursive: true });
    writeFileSync(join(elsewhere, 'model.bin'), 'weights');
    symlinkSync(join(elsewhere, 'model.bin'), join(outputDir, folder, 'model.bin'));
    const { fetched } = startFetch(
      createStorageServer(folderWith({ 'model.bin': 'weights' })),
      folder,
      outputDir,
    );
    expect(await fetched).toMatchObject({ kind: 'ready' });
    expect(statSync(join(outputDir, folder, 'model.bin')).isFile()).toBe(true);
    expect(readFileSync(join(elsewhere, 'model.bin'), 'utf8')).toBe('weights');
  });

  it('leaves nothing behind when a file of a checkpoint folder is missing', async () => {
    const server = createStorageServer(folderWith(files));
    server.files.delete(`${folder}/model.bin`);
    const { fetched, outputDir } = startFetch(server, folder);
    expect(await fetched).toEqual(failure(/run\/checkpoint-500\/model.bin: refused with 404/));
    expect(readdirSync(join(outputDir, 'run'))).toEqual([]);
  });
});

it.each([
  [0, '0 bytes'],
  [999, '999 bytes'],
  [1_000, '1.0 kB'],
  [12_345_678, '12.3 MB'],
  [7_000_000_000, '7.0 GB'],
])('formats %d bytes as %s', (bytes, words) => expect(formatBytes(bytes)).toBe(words));
