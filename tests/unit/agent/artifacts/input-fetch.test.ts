import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fetchInputs } from '../../../../agent/artifacts/input-fetch.ts';
import type { OfferedInput } from '../../../../protocol/job-inputs.ts';
import { tempFolder } from '../builders.ts';
import {
  createInstantClock,
  createStorageServer,
  refusalOf,
  sha256Of,
  type StorageServer,
} from '../storage-server.ts';

/** An input with these file contents, by path. The first segment of the paths is the path of the input. */
const inputOf = (name: string, files: Readonly<Record<string, string>>): OfferedInput => ({
  name,
  path: Object.keys(files)[0]?.split('/')[0] ?? '',
  files: Object.entries(files).map(([path, text]) => ({ path, bytes: text.length, sha256: sha256Of(text) })),
});
/** A server that stores these inputs. */
function serverWith(
  ...inputs: readonly (readonly [name: string, files: Readonly<Record<string, string>>])[]
): StorageServer {
  const stored: Record<string, string> = {};
  for (const [name, files] of inputs)
    for (const [path, text] of Object.entries(files)) stored[`inputs/${name}/${path}`] = text;
  return createStorageServer(stored);
}

function startFetch(
  server: StorageServer,
  inputs: readonly OfferedInput[],
  workDir = tempFolder(),
  job = 'j_1',
) {
  const folder = join(workDir, job);
  mkdirSync(folder, { recursive: true });
  const stages: string[] = [];
  const abort = new AbortController();
  const fetched = fetchInputs(inputs, folder, {
    storage: server.storage,
    workDir,
    clock: createInstantClock(),
    random: () => 0,
    signal: abort.signal,
    onStage: stage => void stages.push(stage),
  });
  return {
    fetched,
    stages,
    abort,
    workDir,
    read: (path: string) => readFileSync(join(folder, 'inputs', path), 'utf8'),
  };
}
const downloadsOf = ({ calls }: StorageServer): readonly string[] =>
  calls.filter(call => call.startsWith('GET'));

const lora = { 'lora.safetensors': 'weights' };
const run = { 'run/a.bin': 'aa', 'run/deep/b.bin': 'bbb' };

describe('inputs of a job', () => {
  it('downloads inputs into folders with their names, and reuses the inputs for the next attempt', async () => {
    const server = serverWith(['lora', lora], ['base', run]);
    const inputs = [inputOf('lora', lora), inputOf('base', run)];
    const { fetched, stages, workDir, read } = startFetch(server, inputs);
    expect(await fetched).toEqual({
      kind: 'ready',
      message: 'Inputs: lora (lora.safetensors), 7 bytes fetched; base (run), 5 bytes fetched',
    });
    expect(stages).toEqual(['Fetching input lora: 7 bytes', 'Fetching input base: 5 bytes']);
    expect([read('lora/lora.safetensors'), read('base/run/a.bin'), read('base/run/deep/b.bin')]).toEqual([
      'weights',
      'aa',
      'bbb',
    ]);
    const countBefore = downloadsOf(server).length;
    expect(await startFetch(server, inputs, workDir).fetched).toEqual({
      kind: 'ready',
      message: 'Inputs: lora (lora.safetensors), already on this rig; base (run), already on this rig',
    });
    expect(downloadsOf(server)).toHaveLength(countBefore);
  });

  it('removes the inputs of the previous job when another job with inputs starts', async () => {
    const server = serverWith(['lora', lora]);
    const { fetched, workDir } = startFetch(server, [inputOf('lora', lora)]);
    await fetched;
    // A folder of the user, which belongs to no job.
    mkdirSync(join(workDir, 'own', 'inputs'), { recursive: true });
    await startFetch(server, [inputOf('lora', lora)], workDir, 'j_2').fetched;
    expect(existsSync(join(workDir, 'j_1', 'inputs'))).toBe(false);
    expect(existsSync(join(workDir, 'own', 'inputs'))).toBe(true);
    expect(readdirSync(join(workDir, 'j_2', 'inputs'))).toEqual(['lora']);
  });

  it('names the input in the error when one of its files has changed or is missing', async () => {
    const changed = serverWith(['lora', { 'lora.safetensors': 'changed' }]);
    expect(await startFetch(changed, [inputOf('lora', lora)]).fetched).toMatchObject({
      kind: 'failed',
      message: expect.stringMatching(/^Input lora cannot be fetched: .*unexpected content$/),
    });
    const gone = serverWith(['lora', lora]);
    gone.fail('GET', refusalOf(404, 'artifact_not_found'));
    expect(await startFetch(gone, [inputOf('lora', lora)]).fetched).toMatchObject({
      kind: 'failed',
      message: expect.stringMatching(/^Input lora cannot be fetched: /),
    });
  });

  it.each(['inputs', 'inputs/lora'])('follows no link that a trainer has left at %s', async path => {
    const [workDir, elsewhere] = [tempFolder(), tempFolder()];
    const link = join(workDir, 'j_1', path);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(elsewhere, link);
    await startFetch(serverWith(['lora', lora]), [inputOf('lora', lora)], workDir).fetched;
    expect(readdirSync(elsewhere)).toEqual([]);
  });

  it('stops the download when the job is cancelled', async () => {
    const { fetched, abort } = startFetch(serverWith(['lora', lora]), [inputOf('lora', lora)]);
    abort.abort();
    expect(await fetched).toEqual({ kind: 'aborted' });
  });
});
