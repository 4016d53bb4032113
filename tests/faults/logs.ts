import { copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FaultFleet } from './fault-fleet.ts';

/** Returns the last events, trainers and log lines of each program as text, for the message of a failure. */
export function describeLastOutput({ events, server, rigs, trainers }: FaultFleet): string {
  const lastEvents = events.events.slice(-40).map(event => {
    const subject = event.job_id ?? event.worker_id ?? '';
    const attempt = event.job_id ? ` attempt ${event.attempt} on ${event.worker_id}` : '';
    return `  ${event.seq} ${event.type} ${subject}${attempt}`;
  });
  const lastRuns = trainers
    .runs()
    .slice(-20)
    .map(
      ({ job, pid, startedAt, lastAt, ended }) =>
        `  ${job} ${pid} ${startedAt}..${lastAt}${ended ? ' ended' : ''}`,
    );
  const lastLines = (name: string, lines: readonly string[]): readonly string[] => [
    `${name}:`,
    ...lines.slice(-12).map(line => `  ${line.slice(0, 400)}`),
  ];
  return [
    'events:',
    ...lastEvents,
    'trainers:',
    ...lastRuns,
    ...lastLines('server', server.lines()),
    ...rigs.flatMap(rig => lastLines(`${rig.name} (${rig.id})`, rig.lines())),
  ].join('\n');
}

/** Saves the failure and all output and records in a folder, for debugging. Leaves out tokens. */
export function keepLogs(fleet: FaultFleet, failure: string, folder: string): void {
  const { events, server, rigs, trainers } = fleet;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const keep = (name: string, lines: readonly string[]): void =>
    writeFileSync(join(folder, name), `${lines.join('\n')}\n`);
  const json = (values: readonly unknown[]): readonly string[] => values.map(value => JSON.stringify(value));
  keep('failure.txt', [failure]);
  keep('server.log', server.lines());
  keep('events.jsonl', json(events.events));
  for (const rig of rigs) {
    keep(`${rig.name}.log`, rig.lines());
    const calls = rig.proxy.log.map(({ headers: _headers, text: _text, ...call }) => call);
    keep(`${rig.name}-calls.jsonl`, json(calls));
  }
  const files = ['', '-wal'].map(suffix => `${server.databaseFile}${suffix}`);
  for (const file of [...files, trainers.file]) {
    if (existsSync(file)) copyFileSync(file, join(folder, file.slice(file.lastIndexOf('/') + 1)));
  }
}
