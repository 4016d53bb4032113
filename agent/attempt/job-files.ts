import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { requestsKey } from '../../protocol/requests.ts';
import { trainerFor, type TrainerName, withPaths } from '../../trainers/index.ts';
import { writeWhole } from '../files/whole-file.ts';
import type { JobOffer } from '../job.ts';
import type { LogCheck } from '../logs/attempt-logs.ts';
import { spellingOf } from '../trainers/index.ts';

/** Writes the files that a config refers to. Returns the config with the paths of these files. */
export function withFiles({ config, dataloader, files }: JobOffer, folder: string): JobOffer['config'] {
  const dataloaderPath = writeDataloader(folder, dataloader);
  const attached = join(folder, 'files');
  rmSync(attached, { recursive: true, force: true });
  const references = trainerFor(config).references(config);
  const changes = references.flatMap(({ path, at }, index) => {
    const text = Object.hasOwn(files, path) ? files[path] : undefined;
    if (text === undefined) return [];
    mkdirSync(attached, { recursive: true, mode: 0o700 });
    const file = join(attached, `${index}-${basename(path.replaceAll('\\', '/'))}`);
    writeWhole(file, text);
    return [{ in: 'config' as const, at, path: file }];
  });
  const moved = withPaths({ config, dataloader, files }, changes).config;
  return dataloaderPath === null
    ? moved
    : { ...moved, [spellingOf(moved, 'data_backend_config')]: dataloaderPath };
}

/** Writes the dataloader config. Returns its path; null if the job has none. */
export function writeDataloader(folder: string, dataloader: unknown): string | null {
  const path = join(folder, 'dataloader.json');
  if (dataloader === null || dataloader === undefined) {
    rmSync(path, { force: true });
    return null;
  }
  writeWhole(path, JSON.stringify(dataloader, null, 2));
  return path;
}

/**
 * Returns the file for the attempt's log: `trainer.log`, or a separate file while another attempt's `trainer.log` is
 * still being sent to the orchestrator. A rotation by this attempt would remove the other log. Removes separate files
 * that have been sent, so that the space for a job's logs is limited.
 */
export function logFileOf({ attempt_id: attemptId }: JobOffer, folder: string, isLogTaken: LogCheck): string {
  const file = join(folder, 'trainer.log');
  const fileOfAttempt = join(folder, `trainer-${attemptId}.log`);
  for (const name of readdirSync(folder)) {
    const [, log] = /^(trainer-.+\.log)(?:\.1)?$/.exec(name) ?? [];
    if (log !== undefined && !isLogTaken(join(folder, log), attemptId))
      rmSync(join(folder, name), { force: true });
  }
  return isLogTaken(file, attemptId) ? fileOfAttempt : file;
}

/**
 * The file that tells `trainer-actions.ts` how to send requests to the trainer. It is separate from the trainer's config,
 * because some trainers reject unknown keys there.
 */
export const requestsFile = 'requests.json';

/** Writes `requests.json`. `trainer`: the known trainer that was started; null for any other program. */
export function writeRequests(
  folder: string,
  { [requestsKey]: requests }: JobOffer['config'],
  trainer: TrainerName | null,
): void {
  const path = join(folder, requestsFile);
  if (requests === undefined && trainer === null) rmSync(path, { force: true });
  else writeWhole(path, JSON.stringify({ [requestsKey]: requests, trainer }));
}
