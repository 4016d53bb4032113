import { copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Fleet } from './fleet.ts';
import { type FaultLine, type Run, runsIn } from './journal.ts';
import type { Violation } from './judge/violation.ts';

/** The report lists the faults from this many ms before a job's first trainer until this many ms after its last trainer. */
const marginMs = 6_000;
const seconds = (ms: number): string => `${(ms / 1_000).toFixed(2).padStart(7)} s`;

interface Moment {
  readonly at: number;
  readonly text: string;
}

/** Describes all violations of a run as text. Adds a timeline of trainers and faults for each job with violations. */
export function reportOf(fleet: Fleet, violations: readonly Violation[], startedAt: number): string {
  const faults = fleet.journals.faults.lines();
  const runs = runsIn(fleet.journals.trainers.lines());
  const lines: string[] = [];
  for (const [job, jobViolations] of Map.groupBy(violations, violation => violation.job)) {
    const subject = job === undefined ? '' : `${job}: `;
    for (const { rule, what } of jobViolations) lines.push(`${rule}: ${subject}${what}`);
    const jobRuns = runs.filter(run => run.job === job);
    for (const { at, text } of timelineOf(jobRuns, faults))
      lines.push(`    ${seconds(at - startedAt)}  ${text}`);
  }
  return lines.join('\n');
}

/** Returns the trainers of a job, and the faults of the orchestrator and of the trainers' rigs during that time. */
function timelineOf(runs: readonly Run[], faults: readonly FaultLine[]): readonly Moment[] {
  if (runs.length === 0) return [];
  const from = Math.min(...runs.map(({ startedAt }) => startedAt)) - marginMs;
  const to = Math.max(...runs.map(({ lastAt }) => lastAt)) + marginMs;
  const rigs = new Set(runs.map(({ rig }) => rig));
  const processes = runs.flatMap(({ pid, attempt, rig, startedAt: at, lastAt, code }) => [
    { at, text: `trainer ${pid} of ${attempt} starts on rig ${rig}` },
    { at: lastAt, text: `trainer ${pid} writes its last line; exit code ${code}` },
  ]);
  const nearFaults = faults
    .filter(({ time, fault }) => time >= from && time <= to && (!('rig' in fault) || rigs.has(fault.rig)))
    .map(({ time, kind, fault, note = '' }) => ({
      at: time,
      text: `${kind} ${JSON.stringify(fault)} ${note}`.trimEnd(),
    }));
  return [...processes, ...nearFaults].toSorted((a, b) => a.at - b.at);
}

/** Copies the report, journals, logs and the database into a folder for debugging. Leaves out tokens. */
export function keep(fleet: Fleet, text: string, folder: string): void {
  const { journals, server, rigs, events } = fleet;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const write = (name: string, lines: readonly string[]): void =>
    writeFileSync(join(folder, name), `${lines.join('\n')}\n`);
  write('violations.txt', [text]);
  write('server.log', server.lines());
  write(
    'events.jsonl',
    events.events.map(event => JSON.stringify(event)),
  );
  for (const rig of rigs) write(`${rig.name}.log`, rig.lines());
  const journalFiles: readonly { readonly file: string }[] = [
    journals.trainers,
    journals.client,
    journals.follow,
    journals.faults,
    journals.exits,
  ];
  const files = [...journalFiles.map(({ file }) => file), server.databaseFile];
  for (const file of files) if (existsSync(file)) copyFileSync(file, join(folder, basename(file)));
}
