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
import { AttemptId, JobId } from '../protocol/ids.ts';
import type { OnLostContact } from '../protocol/job.ts';
import { type ProcessRef, refOf } from './processes.ts';
import { type Fields, fieldsOf, readFields, readFieldsSoon, showWhole, writeWhole } from './whole-file.ts';

/**
 * The folder of a run: all that the agent and the guard tell each other. Each file has one writer, is written whole,
 * and outlives both.
 *
 *     task.json      agent   what is to be run; on disk before the guard is started
 *     guard.json     guard   who it is; made by whoever is first, so that a run is taken, or called off, once
 *     trainer.json   guard   whom it started
 *     log.json       guard   where in the output the log's files begin
 *     stop.json      agent   the order to stop
 *     contact.json   agent   when the orchestrator was last in contact, for a run that must not outlive that
 *     exit.json      guard   how it ended
 *     report.json    agent   what is to be reported of it
 *     settled.json   agent   in its place: nothing is to be reported of it any more, and what is left is the rest of its log
 *     WORD.room      guard   room for stop, exit and report, held on a disk that may be full by then
 */
export interface RunFolder {
  readonly path: string;
}

/** Whether the folder was taken away: everything else that keeps it from being looked at may pass. */
export function isRemoved({ path }: RunFolder): boolean {
  try {
    statSync(path);
    return false;
  } catch (cause) {
    return cause instanceof Error && 'code' in cause && cause.code === 'ENOENT';
  }
}

/** Why a run is to end before its trainer does. */
export type Order = 'cancel' | 'abandon' | 'leave_now';

/** The newest call that was answered; a run that must not outlive its contact ends `timeoutMs` later. */
export interface Contact {
  /** When the call was sent, by `machineUptime`. */
  readonly sentAt: number;
  readonly timeoutMs: number;
  /** From SIGTERM to SIGKILL then. */
  readonly graceMs: number;
}

/** What a guard is started for. Its environment is the trainer's, and stands in no file. */
export interface Task {
  readonly jobId: JobId;
  readonly attemptId: AttemptId;
  readonly configName: string;
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly logFile: string;
  /** Where the trainer writes what it makes; tasks of older agents lack it. */
  readonly outputDir?: string;
  readonly onLostContact: OnLostContact;
  readonly contact: Contact;
}

export interface StopOrder {
  readonly order: Order;
  readonly graceMs: number;
}

/** How a run ended. */
export interface ExitRecord {
  readonly code: number | null;
  readonly signal: string | null;
  /** Why it was stopped; null when it ended by itself. */
  readonly stopped: Order | 'lost_contact' | null;
  /** Why there was nothing to stop: the command could not be started. */
  readonly startError: string | null;
  /** The last lines that the trainer printed. */
  readonly tail: string;
}

/** Where in a run's output (counted in bytes from its beginning) the log's two files begin. */
export interface LogPlaces {
  /** Below zero when the log has something of an earlier attempt in front. */
  readonly current: number;
  /** Of `LOG.1`; null when that has nothing of this run. */
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

/** Begins a run: the folder is made here, and by nothing that the guard writes into it. */
export function writeTask(run: RunFolder, task: Task): void {
  mkdirSync(run.path, { recursive: true, mode: 0o700 });
  writeWhole(fileOf(run, 'task'), JSON.stringify(task));
}

export function readTask(run: RunFolder): Task | null {
  const fields = readFields(fileOf(run, 'task'));
  const jobId = JobId.safeParse(fields?.['jobId']);
  const attemptId = AttemptId.safeParse(fields?.['attemptId']);
  const contact = contactOf(fieldsOf(fields?.['contact']));
  if (fields === null || !jobId.success || !attemptId.success || contact === null) return null;
  const { configName, argv, cwd, logFile, outputDir, onLostContact } = fields;
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
  };
}

/**
 * Takes a run for this guard, or calls it off when `guard` is null: whoever comes first does, and the other one sees
 * it. False when somebody was first.
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

/** Null when nobody has said yet who it is. */
export function readGuard(run: RunFolder): ProcessRef | 'called_off' | null {
  const fields = readFields(fileOf(run, 'guard'));
  return fields?.['calledOff'] === true ? 'called_off' : refOf(fields);
}

export const writeTrainer = (run: RunFolder, trainer: ProcessRef): void =>
  writeWhole(fileOf(run, 'trainer'), JSON.stringify(trainer));

export const readTrainer = (run: RunFolder): ProcessRef | null => refOf(readFields(fileOf(run, 'trainer')));

export const writePlaces = (run: RunFolder, places: LogPlaces): void =>
  showWhole(fileOf(run, 'log'), JSON.stringify(places));

export function readPlaces(run: RunFolder): LogPlaces | null {
  const { current, previous } = readFields(fileOf(run, 'log')) ?? {};
  if (typeof current !== 'number') return null;
  return { current, previous: typeof previous === 'number' ? previous : null };
}

export function writeStop(run: RunFolder, stop: StopOrder): void {
  const text = JSON.stringify(stop);
  inNeed(run, 'stop', () => showWhole(fileOf(run, 'stop'), text), text);
}

export async function readStop(run: RunFolder): Promise<StopOrder | null> {
  const { order, graceMs } = (await readFieldsSoon(fileOf(run, 'stop'))) ?? {};
  return isOrder(order) && isCount(graceMs) ? { order, graceMs } : null;
}

/**
 * In place, in one write of one size: a disk that the trainer has filled takes it, too, and must not look like contact
 * that was lost. A reader that sees half of each passes it over.
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

export const readContact = async (run: RunFolder): Promise<Contact | null> =>
  contactOf(await readFieldsSoon(fileOf(run, 'contact')));

/** Room for each of the last words, on a disk that the trainer may have filled by then. */
export function holdRoom(run: RunFolder): void {
  for (const [word, bytes] of Object.entries(roomBytes))
    writeFileSync(roomOf(run, word), Buffer.alloc(bytes, ' '), { mode: 0o600 });
}

const roomBytes = { stop: 4 * 1024, exit: 32 * 1024, report: 32 * 1024 } as const;
const roomOf = ({ path }: RunFolder, word: string): string => join(path, `${word}.room`);

/**
 * Where nothing more can be written, into the room that is held for it: that is on the disk already.
 * @internal
 */
export function inNeed(run: RunFolder, word: keyof typeof roomBytes, write: () => void, text: string): void {
  try {
    write();
  } catch (cause) {
    const room = roomOf(run, word);
    const bytes = Buffer.alloc(roomBytes[word], ' ');
    if (bytes.write(text) < Buffer.byteLength(text)) throw cause;
    const handle = openSync(room, 'r+');
    try {
      writeSync(handle, bytes, 0, bytes.length, 0);
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
    renameSync(room, fileOf(run, word));
  }
}

export function writeExit(run: RunFolder, exit: ExitRecord): void {
  const text = JSON.stringify(exit);
  inNeed(run, 'exit', () => writeWhole(fileOf(run, 'exit'), text), text);
}

/** What is to be reported, as it will be read; of a job that was refused, too, for which there was no run. */
export function writeReport(run: RunFolder, text: string): void {
  mkdirSync(run.path, { recursive: true, mode: 0o700 });
  inNeed(run, 'report', () => writeWhole(fileOf(run, 'report'), text), text);
}

export const readReportFields = (run: RunFolder): Fields | null => readFields(fileOf(run, 'report'));

/** Takes no room: the disk may be full. */
export function settleRun(run: RunFolder): void {
  const settled = fileOf(run, 'settled');
  const spent = [fileOf(run, 'report'), roomOf(run, 'report'), fileOf(run, 'contact')].find(exists);
  if (spent === undefined) writeWhole(settled, '{}');
  else renameSync(spent, settled);
  const now = new Date();
  utimesSync(settled, now, now);
}

/** When a run was settled, in ms since 1970; null when it was not. */
export function settledAt(run: RunFolder): number | null {
  try {
    return statSync(fileOf(run, 'settled')).mtimeMs;
  } catch {
    return null;
  }
}

/** Whether its trainer has printed anything. */
export const hasLog = (run: RunFolder): boolean => readTask(run) !== null && readPlaces(run) !== null;

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

const isOrder = (word: unknown): word is Order =>
  word === 'cancel' || word === 'abandon' || word === 'leave_now';

const isCount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0;

function exists(file: string): boolean {
  try {
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
