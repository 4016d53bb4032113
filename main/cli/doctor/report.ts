/** The diagnostics report that users attach to a bug report. The command line and the desktop app create it. */
import { closeSync, openSync, readdirSync, readSync, statSync } from 'node:fs';
import { freemem, release, totalmem } from 'node:os';
import { join } from 'node:path';
import { redact } from '../../../agent/logs/redact.ts';
import { version } from '../../../protocol/version.ts';

interface Section {
  readonly title: string;
  readonly lines: readonly string[];
}

/** Sources of a report. */
export interface ReportSources {
  readonly dataDir: string;
  /** Versions of further programs besides Trainyard and Node, by name. */
  readonly versions?: Readonly<Record<string, string>>;
  /** Sections that only the caller can provide, such as its settings. */
  readonly sections: readonly Section[];
}

const maxLogLines = 200;
/** Maximum number of bytes to read from the end of the log. */
const maxLogBytes = 256 * 1024;
/** Crashpad stores the dumps in subfolders of this folder. */
const dumpsIn = (dataDir: string): string => join(dataDir, 'desktop', 'Crashpad');

/** Path of the log of the desktop app. */
export const appLogIn = (dataDir: string): string => join(dataDir, 'desktop', 'logs', 'main.log');

/**
 * Returns a report in plain text: versions, the given sections, the last 200 lines of the app's log, and the names of crash dumps.
 * All text passes the filter that removes secrets from the output of trainers.
 */
export function createReport({ dataDir, versions = {}, sections }: ReportSources): string {
  const all: readonly Section[] = [
    { title: 'Versions', lines: linesOf({ Trainyard: version, Node: process.version, ...versions }) },
    { title: 'System', lines: linesOf(systemFacts()) },
    ...sections,
    { title: `Log of the app (last ${maxLogLines} lines)`, lines: lastLines(appLogIn(dataDir)) },
    { title: 'Crash dumps', lines: dumpsOf(dataDir) },
  ];
  const intro = `Trainyard diagnostics, ${new Date().toISOString()}
Secrets are removed. The report names this machine's folders, and its workers and jobs: read it before you share it.`;
  const shown = all.map(({ title, lines }) =>
    [`## ${title}`, ...(lines.length === 0 ? ['none'] : lines)].join('\n'),
  );
  return redact(`${[intro, ...shown].join('\n\n')}\n`);
}

/** Returns a section with one line for each fact. Values other than text are written as JSON. */
export const sectionOf = (title: string, facts: object): Section => ({ title, lines: linesOf(facts) });

const linesOf = (facts: object): readonly string[] =>
  Object.entries(facts).map(
    ([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );

const gibibytes = (bytes: number): string => `${(bytes / 1024 ** 3).toFixed(1)} GiB`;

const systemFacts = (): Readonly<Record<string, string>> => ({
  System: `${process.platform} ${process.arch}, ${release()}`,
  Memory: `${gibibytes(totalmem())}, of which ${gibibytes(freemem())} are free`,
  'Time zone': Intl.DateTimeFormat().resolvedOptions().timeZone,
});

function lastLines(file: string): readonly string[] {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size === 0) return [];
  const bytes = Buffer.alloc(Math.min(size, maxLogBytes));
  const opened = openSync(file, 'r');
  try {
    readSync(opened, bytes, 0, bytes.length, size - bytes.length);
  } finally {
    closeSync(opened);
  }
  const lines = bytes.toString().split('\n').slice(0, -1);
  return lines.slice(-maxLogLines);
}

/** Returns the name, size and time of each dump. Dumps contain memory of the process, so they are never read. */
function dumpsOf(dataDir: string): readonly string[] {
  return findDumps(dumpsIn(dataDir)).map(
    ({ path, bytes, at }) => `${path} (${Math.ceil(bytes / 1024)} KiB, ${at.toISOString()})`,
  );
}

interface Dump {
  readonly path: string;
  readonly bytes: number;
  readonly at: Date;
}

/** Returns all crash dumps below a folder, newest first. */
export function findDumps(folder: string): readonly Dump[] {
  if (statSync(folder, { throwIfNoEntry: false }) === undefined) return [];
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.dmp'))
    .map(name => join(folder, name))
    .flatMap(path => {
      const stats = statSync(path, { throwIfNoEntry: false });
      return stats === undefined ? [] : [{ path, bytes: stats.size, at: stats.mtime }];
    })
    .toSorted((a, b) => b.at.getTime() - a.at.getTime());
}
