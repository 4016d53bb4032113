import { copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Fleet } from './fleet.ts';
import { type FaultLine, type Run, runsIn } from './journal.ts';
import type { Violation } from './judge/violation.ts';

const marginMs = 6_000;
const seconds = (ms: number): string => `${(ms / 1_000).toFixed(2).padStart(7)} s`;

interface Moment {
  readonly at: number;
  readonly text: string;
}

/** Describes all violations of a run. For a job, it lists the faults that may have caused its violations. */
export function reportOf(fleet: Fleet, violations: readonly Violation[], startedAt: number): string {
  const faults = fleet.journals.faults.lines();
  const runs = runsIn(fleet.journals.trainers.lines());
  const groups = [...Map.groupBy(violations, ({ job }) => job)];
  return groups
    .flatMap(([job, own]) => [
      ...own.map(({ rule, what }) => `${rule}: ${job === undefined ? '' : `${job}: `}${what}`),
      ...timelineOf(
        runs.filter(run => run.job === job),
        faults,
      ).map(({ at, text }) => `    ${seconds(at - startedAt)}  ${text}`),
    ])
    .join('\n');
}

/** Returns the trainers of a job, and the faults of the orchestrator and of their rigs during that time. */
function timelineOf(runs: readonly Run[], faults: readonly FaultLine[]): readonly Moment[] {
  if (runs.length === 0) return [];
  const from = Math.min(...runs.map(({ startedAt }) => startedAt)) - marginMs;
  const to = Math.max(...runs.map(({ lastAt }) => lastAt)) + marginMs;
  const rigs = new Set(runs.map(({ rig }) => rig));
  const processes = runs.flatMap(({ pid, attempt, rig, startedAt: at, lastAt, code }) => [
    { at, text: `trainer ${pid} of ${attempt} starts on rig ${rig}` },
    { at: lastAt, text: `trainer ${pid} writes its last line; exit code ${code}` },
  ]);
  const broken = faults
    .filter(({ time, fault }) => time >= from && time <= to && (!('rig' in fault) || rigs.has(fault.rig)))
    .map(({ time, kind, fault, note = '' }) => ({
      at: time,
      text: `${kind} ${JSON.stringify(fault)} ${note}`.trimEnd(),
    }));
  return [...processes, ...broken].toSorted((a, b) => a.at - b.at);
}

/** Copies journals, logs and the database for debugging. Tokens are not copied. */
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
  const own: readonly { readonly file: string }[] = [
    journals.trainers,
    journals.client,
    journals.follow,
    journals.faults,
    journals.exits,
  ];
  const files = [...own.map(({ file }) => file), server.databaseFile];
  for (const file of files) if (existsSync(file)) copyFileSync(file, join(folder, basename(file)));
}
