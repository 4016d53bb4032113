import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { JobId } from '../../../protocol/ids.ts';
import type { OrphanMarks } from '../../orchestrator/ports/index.ts';
import { isMissing } from './log-segments.ts';

/**
 * Stores the mark in a file beside the log. File times are unsuitable: they follow the wall clock, which may have been wrong when
 * the log was written.
 */
export function createOrphanMarks(folder: string): OrphanMarks {
  const fileOf = (job: JobId): string => join(folder, job, 'orphaned-at');
  return {
    async at(job) {
      try {
        const at = Number.parseInt(await readFile(fileOf(job), 'utf8'), 10);
        return Number.isSafeInteger(at) ? at : null;
      } catch (cause) {
        if (isMissing(cause)) return null;
        throw cause;
      }
    },
    set: (job, at) => writeFile(fileOf(job), `${at}\n`, { mode: 0o600 }),
    clear: job => rm(fileOf(job), { force: true }),
  };
}
