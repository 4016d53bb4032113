import { createWriteStream, type WriteStream } from 'node:fs';
import type { Readable } from 'node:stream';
import type { Progress } from '../protocol/progress.ts';
import { type Exit, type ProcessGroup, startGroup } from './process-group.ts';
import { createProgressReader, createTail, type OutputItem } from './progress.ts';
import { wireProgress } from './progress-wire.ts';
import type { PreparedJob } from './trainer.ts';

export interface Finished extends Exit {
  /** The last lines that the trainer printed. */
  readonly tail: string;
}

/** A trainer at work. */
export interface Run {
  readonly pid: number;
  readonly finished: Promise<Finished>;
  /** SIGTERM to the trainer and all its children, SIGKILL to what is left after the grace. */
  stop(graceMs: number): void;
}

export interface RunEars {
  readonly onProgress: (progress: Progress) => void;
  readonly onLine: (line: string) => void;
}

/** Starts a prepared job; rejects when its command can't be started. */
export async function startRun(job: PreparedJob, ears: RunEars): Promise<Run> {
  const group = await startGroup(job);
  const tail = createTail();
  const log = createWriteStream(job.logFile, { flags: 'a', mode: 0o600 });
  // A full disk must not end the training: the log has a hole then.
  log.on('error', () => {});
  const take = (item: OutputItem): void => {
    if (item.kind === 'progress') {
      ears.onProgress(wireProgress(item.progress));
      return;
    }
    // A line that the next one draws over is gone from a terminal, too.
    if (!item.redraw) tail.push(item.text);
    ears.onLine(item.text);
  };
  for (const stream of [group.stdout, group.stderr]) follow(stream, log, take);
  return { pid: group.pid, stop: group.stop, finished: finish(group, log, () => tail.text()) };
}

function follow(stream: Readable, log: WriteStream, take: (item: OutputItem) => void): void {
  const reader = createProgressReader();
  // A log that broke while it was waited for: nothing drains any more.
  log.once('close', () => stream.resume());
  stream.on('data', (chunk: Buffer) => {
    for (const item of reader.push(chunk)) take(item);
    if (log.writable && !log.write(chunk)) {
      stream.pause();
      log.once('drain', () => stream.resume());
    }
  });
  stream.once('end', () => {
    for (const item of reader.end()) take(item);
  });
}

async function finish(group: ProcessGroup, log: WriteStream, tail: () => string): Promise<Finished> {
  const exit = await group.exited;
  await new Promise<void>(resolve => log.end(() => resolve()));
  return { ...exit, tail: tail() };
}
