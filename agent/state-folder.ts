import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { AttemptId, JobId } from '../protocol/ids.ts';
import { StatusReport, type StatusReportBody } from '../protocol/worker-api.ts';
import { readReportFields, type RunFolder, writeReport } from './guard-files.ts';
import { openRegistrations, type Registrations } from './registrations.ts';
import { writeWhole } from './whole-file.ts';

/** How an attempt ended: kept on disk until the orchestrator has taken note of it. */
export interface FinalReport {
  readonly jobId: JobId;
  readonly attemptId: AttemptId;
  /** As it is sent. */
  readonly body: StatusReportBody;
}

/**
 * What must outlive the agent's process; for its owner's eyes only.
 *
 *     lock           who uses the folder
 *     instance       the worker's own name for itself on this machine
 *     registered     empty; exists once an orchestrator has accepted this worker
 *     token          what it has joined with (own-tokens.ts)
 *     runs/ATTEMPT/  the files of a run (guard-files.ts)
 *     outputs/       of which attempts something is still to be brought (attempt-outputs.ts)
 *     images/        images of event files of those attempts (event-images/)
 */
export interface StateFolder {
  /** One for each machine and name of a worker, kept over restarts. */
  readonly instanceId: string;
  /** Where the runs are, one folder an attempt. */
  readonly runsDir: string;
  readonly outputsDir: string;
  readonly imagesDir: string;
  readonly registrations: Registrations;
  runOf(attemptId: AttemptId): RunFolder;
  keepReport(report: FinalReport): void;
  /** The orchestrator has taken note: nothing of the run is needed here any more. */
  dropReport(attemptId: AttemptId): void;
}

export function openStateFolder(dir: string): StateFolder {
  const runsDir = join(dir, 'runs');
  mkdirSync(runsDir, { recursive: true, mode: 0o700 });
  const runOf = (attemptId: AttemptId): RunFolder => ({ path: join(runsDir, attemptId) });
  return {
    instanceId: instanceOf(join(dir, 'instance')),
    runsDir,
    outputsDir: join(dir, 'outputs'),
    imagesDir: join(dir, 'images'),
    registrations: openRegistrations(join(dir, 'registered')),
    runOf,
    keepReport: report => writeReport(runOf(report.attemptId), JSON.stringify(report)),
    // Windows removes nothing that a guard has still open, which is about to end.
    dropReport: attemptId => rmSync(runOf(attemptId).path, { recursive: true, force: true, maxRetries: 5 }),
  };
}

function instanceOf(file: string): string {
  const kept = readOrNull(file)?.trim() ?? '';
  if (/^[0-9a-f]{24}$/.test(kept)) return kept;
  const made = randomBytes(12).toString('hex');
  writeWhole(file, `${made}\n`);
  return made;
}

function readOrNull(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}

/** What is to be reported of a run; null when that is not known yet, or can't be read. */
export function readReport(run: RunFolder): FinalReport | null {
  const fields = readReportFields(run);
  const jobId = JobId.safeParse(fields?.['jobId']);
  const attemptId = AttemptId.safeParse(fields?.['attemptId']);
  const body = StatusReport.safeParse(fields?.['body']);
  if (!jobId.success || !attemptId.success || !body.success) return null;
  return { jobId: jobId.data, attemptId: attemptId.data, body: body.data };
}
