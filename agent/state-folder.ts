import { randomBytes } from 'node:crypto';
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { AttemptId, JobId } from '../protocol/ids.ts';
import { StatusReport, type StatusReportBody } from '../protocol/worker-api.ts';

/** How an attempt ended: kept on disk until the orchestrator has taken note of it. */
export interface FinalReport {
  readonly jobId: JobId;
  readonly attemptId: AttemptId;
  /** As it is sent. */
  readonly body: StatusReportBody;
}

/** What must outlive the agent's process; for its owner's eyes only. */
export interface StateFolder {
  /** A new one for every start of the agent: tells a restart from a reconnection, and one machine from another. */
  readonly instanceId: string;
  keepReport(report: FinalReport): void;
  /** The report that an earlier run of the agent could not deliver. */
  keptReport(): FinalReport | null;
  dropReport(): void;
}

export function openStateFolder(dir: string): StateFolder {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const file = join(dir, 'report.json');
  return {
    instanceId: randomBytes(12).toString('hex'),
    keepReport: report => writeWhole(file, JSON.stringify(report)),
    keptReport: () => readReport(file),
    dropReport: () => rmSync(file, { force: true }),
  };
}

/** Whole or not at all, and on disk when this returns. */
export function writeWhole(file: string, text: string): void {
  const unfinished = `${file}.${randomBytes(4).toString('hex')}.tmp`;
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  try {
    const handle = openSync(unfinished, 'wx', 0o600);
    try {
      // Unlike writeSync it goes on after a short write, or throws.
      writeFileSync(handle, text);
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
    renameSync(unfinished, file);
  } catch (cause) {
    rmSync(unfinished, { force: true });
    throw cause;
  }
}

/** A file that can't be read is no report: what it said is lost, and the orchestrator will ask for the job anyway. */
function readReport(file: string): FinalReport | null {
  try {
    const kept: unknown = JSON.parse(readFileSync(file, 'utf8'));
    const fields = { jobId: null, attemptId: null, body: null, ...(typeof kept === 'object' ? kept : {}) };
    const jobId = JobId.safeParse(fields.jobId);
    const attemptId = AttemptId.safeParse(fields.attemptId);
    const body = StatusReport.safeParse(fields.body);
    if (!jobId.success || !attemptId.success || !body.success) return null;
    return { jobId: jobId.data, attemptId: attemptId.data, body: body.data };
  } catch {
    return null;
  }
}
