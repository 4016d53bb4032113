import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  statSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { AttemptId, JobId } from '../../protocol/ids.ts';
import type { OnLostContact } from '../../protocol/job.ts';
import { type ProcessRef, refOf } from '../process/processes.ts';
import {
  type Fields,
  fieldsOf,
  readFields,
  readFieldsSoon,
  showWhole,
  writeWhole,
} from '../files/whole-file.ts';

/**
 * The folder of a run, through which the agent and the guard communicate. Each file has one writer, is written as a
 * whole, and outlives both processes.
 *
 *     task.json      agent   what to run; on disk before the guard is started
 *     guard.json     guard   the guard's identity; the first process to create it claims or cancels the run
 *     trainer.json   guard   the trainer's identity
 *     log.json       guard   the offsets in the output at which the log's files begin
 *     stop.json      agent   the order to stop
 *     contact.json   agent   the last contact with the orchestrator, for a run that stops when contact is lost
 *     exit.json      guard   how the run ended
 *     report.json    agent   the final report
 *     settled.json   agent   replaces report.json when the orchestrator has the report; only the log is still needed
 *     NAME.room      guard   space reserved for stop.json, exit.json and report.json, because the disk may fill up
 */
export interface RunFolder {
  readonly path: string;
}

/** Whether the folder was removed. Returns false on any other error, because the error may be temporary. */
export function isRemoved({ path }: RunFolder): boolean {
  try {
    statSync(path);
    return false;
  } catch (cause) {
    return cause instanceof Error && 'code' in cause && cause.code === 'ENOENT';
  }
}

/** The reason for which the agent stops a run before its trainer ends. */
export type Order = 'cancel' | 'abandon' | 'leave_now';

/** The last answered call to the orchestrator. A run with `on_lost_contact: stop` is stopped `timeoutMs` after `sentAt`. */
export interface Contact {
  /** When the call was sent, in ms of `machineUptime`. */
  readonly sentAt: number;
  readonly timeoutMs: number;
  /** ms from SIGTERM to SIGKILL when the run is stopped for lost contact. */
  readonly graceMs: number;
}

/** The command that a guard runs. The trainer inherits the guard's environment, so that no file contains its secrets. */
export interface Task {
  readonly jobId: JobId;
  readonly attemptId: AttemptId;
  readonly configName: string;
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly logFile: string;
  /** The output folder of the trainer; absent in tasks of older agents. */
  readonly outputDir?: string;
  readonly onLostContact: OnLostContact;
  readonly contact: Contact;
  /** Number of this machine among the workers of the attempt; absent when the attempt has one worker. */
  readonly rank?: number;
}

export interface StopOrder {
  readonly order: Order;
  readonly graceMs: number;
}

/** The end of a run. */
export interface ExitRecord {
  readonly code: number | null;
  readonly signal: string | null;
  /** Why the run was stopped; null when it ended by itself. */
  readonly stopped: Order | 'lost_contact' | null;
  /** Why the trainer could not be started; null when it was started. */
  readonly startError: string | null;
  /** The last lines that the trainer printed. */
  readonly tail: string;
}

/** The offsets in a run's output, in bytes, at which the log's two files begin. */
export interface LogPlaces {
  /** Negative when the file begins with output of an earlier attempt. */
  readonly current: number;
  /** The offset at which `LOG.1` begins; null when that file has no output of this run. */
  readonly previous: number | null;
}

const files = {
  task: 'task.json',
  guard: 'guard.json',
  trainer: 'trainer.json',
  log: 'log.json',
  stop: 'stop.json',
  contact: 'contact.json',
  exit: 'exit.json',
  report: 'report.json',
  settled: 'settled.json',
} as const;

const fileOf = ({ path }: RunFolder, name: keyof typeof files): string => join(path, files[name]);

/**
 * Writes the task, and creates the run's folder. The guard never creates the folder, because a removed folder ends
 * the run.
 */
export function writeTask(run: RunFolder, task: Task): void {
  mkdirSync(run.path, { recursive: true, mode: 0o700 });
  writeWhole(fileOf(run, 'task'), JSON.stringify(task));
}

/** Returns null when the task is missing or invalid. */
export function readTask(run: RunFolder): Task | null {
  const fields = readFields(fileOf(run, 'task'));
  const jobId = JobId.safeParse(fields?.['jobId']);
  const attemptId = AttemptId.safeParse(fields?.['attemptId']);
  const contact = contactOf(fieldsOf(fields?.['contact']));
  if (fields === null || !jobId.success || !attemptId.success || contact === null) return null;
  const { configName, argv, cwd, logFile, outputDir, onLostContact, rank } = fields;
  if (typeof configName !== 'string' || typeof cwd !== 'string' || typeof logFile !== 'string') return null;
  if (!Array.isArray(argv) || !argv.every(word => typeof word === 'string')) return null;
  return {
    jobId: jobId.data,
    attemptId: attemptId.data,
    configName,
    argv,
    cwd,
    logFile,
    ...(typeof outputDir === 'string' && { outputDir }),
    onLostContact: onLostContact === 'stop' ? 'stop' : 'continue',
    contact,
    ...(isCount(rank) && { rank }),
  };
}

/**
 * Claims a run for this guard, or cancels it when `guard` is null. Returns true for the first caller only.
 */
export function takeRun(run: RunFolder, guard: ProcessRef | null): boolean {
  let handle: number;
  try {
    handle = openSync(fileOf(run, 'guard'), 'wx', 0o600);
  } catch {
    return false;
  }
  try {
    writeFileSync(handle, JSON.stringify(guard ?? { calledOff: true }));
    return true;
  } finally {
    closeSync(handle);
  }
}

/** Returns null when no guard has claimed the run yet. */
export function readGuard(run: RunFolder): ProcessRef | 'called_off' | null {
  const fields = readFields(fileOf(run, 'guard'));
  return fields?.['calledOff'] === true ? 'called_off' : refOf(fields);
}

export const writeTrainer = (run: RunFolder, trainer: ProcessRef): void =>
  writeWhole(fileOf(run, 'trainer'), JSON.stringify(trainer));

/** Returns null when the guard has not recorded its trainer yet. */
export const readTrainer = (run: RunFolder): ProcessRef | null => refOf(readFields(fileOf(run, 'trainer')));

export const writePlaces = (run: RunFolder, places: LogPlaces): void =>
  showWhole(fileOf(run, 'log'), JSON.stringify(places));

/** Returns null when the log has no output yet. */
export function readPlaces(run: RunFolder): LogPlaces | null {
  const { current, previous } = readFields(fileOf(run, 'log')) ?? {};
  if (typeof current !== 'number') return null;
  return { current, previous: typeof previous === 'number' ? previous : null };
}

/** Writes the stop order, into the reserved space if the disk is full. Throws when that fails, too. */
export function writeStop(run: RunFolder, stop: StopOrder): void {
  const text = JSON.stringify(stop);
  writeOrUseReserve(run, 'stop', () => showWhole(fileOf(run, 'stop'), text), text);
}

/** Returns null when there is no stop order. */
export async function readStop(run: RunFolder): Promise<StopOrder | null> {
  const { order, graceMs } = (await readFieldsSoon(fileOf(run, 'stop'))) ?? {};
  return isOrder(order) && isCount(graceMs) ? { order, graceMs } : null;
}

/**
 * Overwrites the file in place, with one write of a fixed size. This works even on a full disk. Otherwise, a full disk
 * would look like lost contact. A reader ignores a file that is half written.
 */
export function writeContact(run: RunFolder, contact: Contact): void {
  const text = JSON.stringify(contact).padEnd(contactBytes);
  const file = fileOf(run, 'contact');
  if (!exists(file)) return showWhole(file, text);
  const handle = openSync(file, 'r+');
  try {
    writeSync(handle, text, 0);
  } finally {
    closeSync(handle);
  }
}

const contactBytes = 200;

/** Returns null when no contact is recorded, or when the file is half written. */
export const readContact = async (run: RunFolder): Promise<Contact | null> =>
  contactOf(await readFieldsSoon(fileOf(run, 'contact')));

/** Reserves space for the stop order, the exit record and the report, because the trainer may fill the disk. */
export function reserveSpace(run: RunFolder): void {
  for (const [name, bytes] of Object.entries(roomBytes))
    writeFileSync(roomOf(run, name), Buffer.alloc(bytes, ' '), { mode: 0o600 });
}

const roomBytes = { stop: 4 * 1024, exit: 32 * 1024, report: 32 * 1024 } as const;
const roomOf = ({ path }: RunFolder, name: string): string => join(path, `${name}.room`);

/**
 * Calls `write`. If that fails, writes `text` into the reserved space, and renames that file. Throws when `text` does
 * not fit.
 * @internal
 */
export function writeOrUseReserve(
  run: RunFolder,
  name: keyof typeof roomBytes,
  write: () => void,
  text: string,
): void {
  try {
    write();
  } catch (cause) {
    const room = roomOf(run, name);
    const bytes = Buffer.alloc(roomBytes[name], ' ');
    if (bytes.write(text) < Buffer.byteLength(text)) throw cause;
    const handle = openSync(room, 'r+');
    try {
      writeSync(handle, bytes, 0, bytes.length, 0);
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
    renameSync(room, fileOf(run, name));
  }
}

/** Writes the exit record, into the reserved space if the disk is full. Throws when that fails, too. */
export function writeExit(run: RunFolder, exit: ExitRecord): void {
  const text = JSON.stringify(exit);
  writeOrUseReserve(run, 'exit', () => writeWhole(fileOf(run, 'exit'), text), text);
}

/** Writes the final report. Creates the run's folder if it is missing, as for a job that this worker rejected. */
export function writeReport(run: RunFolder, text: string): void {
  mkdirSync(run.path, { recursive: true, mode: 0o700 });
  writeOrUseReserve(run, 'report', () => writeWhole(fileOf(run, 'report'), text), text);
}

export const readReportFields = (run: RunFolder): Fields | null => readFields(fileOf(run, 'report'));

/**
 * Records that the orchestrator has acknowledged the report of a run. Renames a file that is no longer needed, because
 * a new file may not fit on the disk.
 */
export function acknowledgeRun(run: RunFolder): void {
  const acknowledged = fileOf(run, 'settled');
  const spent = [fileOf(run, 'report'), roomOf(run, 'report'), fileOf(run, 'contact')].find(exists);
  if (spent === undefined) writeWhole(acknowledged, '{}');
  else renameSync(spent, acknowledged);
  const now = new Date();
  utimesSync(acknowledged, now, now);
}

/** Returns when the report of a run was acknowledged, in ms since 1970; null when it was not. */
export function acknowledgedAt(run: RunFolder): number | null {
  try {
    return statSync(fileOf(run, 'settled')).mtimeMs;
  } catch {
    return null;
  }
}

/** Whether the run's trainer has printed anything. */
export const hasLog = (run: RunFolder): boolean => readTask(run) !== null && readPlaces(run) !== null;

/** Returns null when the run has no exit record yet. */
export function readExit(run: RunFolder): ExitRecord | null {
  const { code, signal, stopped, startError, tail } = readFields(fileOf(run, 'exit')) ?? {};
  if (typeof tail !== 'string') return null;
  return {
    code: Number.isInteger(code) ? Number(code) : null,
    signal: typeof signal === 'string' ? signal : null,
    stopped: isOrder(stopped) || stopped === 'lost_contact' ? stopped : null,
    startError: typeof startError === 'string' ? startError : null,
    tail,
  };
}

function contactOf(fields: Fields | null): Contact | null {
  const { sentAt, timeoutMs, graceMs } = fields ?? {};
  return isCount(sentAt) && isCount(timeoutMs) && isCount(graceMs) ? { sentAt, timeoutMs, graceMs } : null;
}

const isOrder = (value: unknown): value is Order =>
  value === 'cancel' || value === 'abandon' || value === 'leave_now';

const isCount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0;

function exists(file: string): boolean {
  try {
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
