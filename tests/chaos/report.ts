import { copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Fleet } from './fleet.ts';
import { type FaultLine, type Run, runsIn } from './journal.ts';
import type { Violation } from './judge/violation.ts';

/** What is shown of one violation: the faults that could have to do with it, in their order. */
function describe(
  violation: Violation,
  faults: readonly FaultLine[],
  runs: readonly Run[],
  startedAt: number,
): string {
  const { rule, what, job } = violation;
  const head = `${rule}: ${job === undefined ? '' : `${job}: `}${what}`;
  const own = runs.filter(run => run.job === job);
  if (own.length === 0) return head;
  const from = own[0]!.startedAt - marginMs;
  const to = Math.max(...own.map(({ lastAt }) => lastAt)) + marginMs;
  const trainers = own.map(({ pid, attempt, startedAt: at, lastAt, code }) => ({
    at,
    text: `trainer ${pid} of ${attempt} until ${seconds(lastAt - startedAt)}, exit code ${code}`,
  }));
  const broken = faults
    .filter(({ time }) => time >= from && time <= to)
    .map(({ time, kind, fault, note }) => ({
      at: time,
      text: `${kind} ${JSON.stringify(fault)}${note === undefined ? '' : ` ${note}`}`,
    }));
  const lines = [...trainers, ...broken].toSorted((a, b) => a.at - b.at);
  return [head, ...lines.map(({ at, text }) => `    ${seconds(at - startedAt)}  ${text}`)].join('\n');
}

const marginMs = 6_000;
const seconds = (ms: number): string => `${(ms / 1_000).toFixed(2).padStart(7)} s`;

/** Copies journals, logs and the database, for whoever looks into a failure. Tokens stay where they are. */
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

/** All violations of a run, in words. */
export function reportOf(fleet: Fleet, violations: readonly Violation[], startedAt: number): string {
  const faults = fleet.journals.faults.lines();
  const runs = runsIn(fleet.journals.trainers.lines());
  return violations.map(violation => describe(violation, faults, runs, startedAt)).join('\n');
}
