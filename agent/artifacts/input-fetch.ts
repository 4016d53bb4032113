import type { OfferedInput } from '../../protocol/job-inputs.ts';
import { claimInputs, inputsFolderOf } from '../datasets/data-targets.ts';
import { formatBytes, isFullDisk, reasonOf } from '../files/failure-text.ts';
import { type Fetched, fetchAll, type Wanted } from './checkpoint-fetch.ts';
import type { DownloadDeps } from './download.ts';
import type { FetchData } from '../datasets/rig-data.ts';
import { openStorage, type Storage, type StorageDeps } from './storage.ts';

export interface InputDeps extends Omit<DownloadDeps, 'storage'> {
  readonly storage: Pick<Storage, 'input'>;
  /** The folder that contains the folders of all jobs. */
  readonly workDir: string;
  /** Receives the current activity of the job, as text for people. */
  readonly onStage: (stage: string) => void;
}

/**
 * Downloads a job's inputs, which are files of other jobs, into `jobFolder`. Each input has a temporary name until all
 * its files are complete and verified. Continues interrupted downloads, and skips files that the rig already has.
 *
 * @internal
 */
export async function fetchInputs(
  inputs: readonly OfferedInput[],
  jobFolder: string,
  { storage, workDir, onStage, ...deps }: InputDeps,
): Promise<Fetched> {
  const { signal } = deps;
  const source: DownloadDeps = {
    ...deps,
    // The key of a file is its path in the job's folder, which is also its path in the storage.
    storage: { get: (key, rest, over) => storage.input(key, rest, over) },
  };
  const fetched: string[] = [];
  for (const input of inputs) {
    const { name, files } = input;
    const folder = `${inputsFolder}/${name}`;
    const filesToFetch = files.map(
      ({ path, ...content }): Wanted => ({ key: `${folder}/${path}`, ...content }),
    );
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    onStage(`Fetching input ${name}: ${formatBytes(bytes)}`);
    const fail = (why: string): Fetched => ({ kind: 'failed', message: messageOf(name, why) });
    try {
      await claimInputs(workDir, jobFolder);
      const end = await fetchAll(folder, filesToFetch, jobFolder, source);
      if (signal.aborted) return { kind: 'aborted' };
      if (typeof end === 'object') return fail(end.flaw);
      fetched.push(describe(input, end));
    } catch (cause) {
      return signal.aborted ? { kind: 'aborted' } : fail(reasonOf(cause));
    }
  }
  return { kind: 'ready', message: `Inputs: ${fetched.join('; ')}` };
}

const inputsFolder = inputsFolderOf('');

const describe = ({ name, path }: OfferedInput, bytes: number): string =>
  `${name} (${path}), ${bytes === 0 ? 'already on this rig' : `${formatBytes(bytes)} fetched`}`;

function messageOf(name: string, why: string): string {
  const remedy = isFullDisk(why) ? '. Free space on the disk of --work-dir' : '';
  return `Input ${name} cannot be fetched: ${why}${remedy}`;
}

/** Returns a function that fetches an attempt's inputs with the attempt's token. `over` fires when downloads must stop. */
export const createInputFetch =
  (workDir: string, storageDeps: StorageDeps, over: AbortSignal): FetchData =>
  ({ inputs = [], upload_endpoint: endpoint, upload_token: token = '' }, { folder }, signal, onStage) =>
    fetchInputs(inputs, folder, {
      workDir,
      storage: openStorage({ endpoint, token }, storageDeps),
      clock: storageDeps.clock,
      random: Math.random,
      signal: AbortSignal.any([signal, over]),
      onStage,
    });
