import type { JobId } from '../protocol/ids.ts';
import { pause } from './backoff.ts';
import type { Clock } from './clock.ts';
import { type Cards, conditionsOf, type KnownTrouble } from './gpu-conditions.ts';
import { holdingOf, ownerOf, type OwnRun, type ProcessTable } from './gpu-holders.ts';
import { probeProcesses } from './gpu-processes.ts';
import type { GpuReport, RunCommand } from './gpu-probe.ts';
import type { Run } from './run.ts';

export interface GpuWatchParts {
  readonly run: RunCommand;
  /** The GPUs that were chosen. */
  readonly report: GpuReport;
  readonly clock: Clock;
  /** Null where processes can not be looked at: then nobody is said to hold a GPU. */
  readonly table: ProcessTable | null;
  readonly say: (message: string) => void;
  /** What has been wrong from the start, and stays so. */
  readonly lasting?: readonly KnownTrouble[];
  /** The job whose training an earlier process of this agent has left, until that is followed. */
  readonly found?: JobId | null;
}

/** What is known to be wrong with the GPUs of this worker. */
export interface GpuWatch {
  /** As of the last look, of each kind. */
  troubles(): readonly KnownTrouble[];
  /** What a look at the GPUs has shown that was made for their figures anyway. */
  noteCards(cards: Cards): void;
  /** Looks who computes on them, if that is due. Never rejects. */
  lookNowAndThen(): Promise<void>;
  /** Looks again, where somebody was there for the first time who should not be: by then it is known. */
  settled(): Promise<void>;
  /** The same run, whose end is told only after it was looked whether all of it has left the GPUs. */
  follow(jobId: JobId, run: Run): Run;
}

/** The tools take a part of a second of a processor, and the driver's lock: not with every beat. */
const everyMs = 30_000;
/** Memory of a process that was killed takes its time to come back. */
const againAfterMs = 2_000;
/** Of those that ended before, nothing can be left that has their group's number by now. */
const mostEnded = 8;

export function createGpuWatch(parts: GpuWatchParts): GpuWatch {
  const { run: command, report, clock, table, say, found = null, lasting = noTroubles } = parts;
  const known = { conditions: noTroubles, holding: noTroubles };
  let wasSilent = false;
  let suspects: ReadonlySet<string> = new Set();
  let isOpen = false;
  let lookedAt = Number.NEGATIVE_INFINITY;
  let last: Promise<void> = Promise.resolve();
  let live: readonly OwnRun[] = found === null ? [] : [{ jobId: found, leader: null }];
  let ended: readonly OwnRun[] = [];

  const troubles = (): readonly KnownTrouble[] => [...lasting, ...known.conditions, ...known.holding];
  const learn = (what: keyof typeof known, now: readonly KnownTrouble[]): void => {
    const [before, after] = [known[what].map(nameOf), now.map(nameOf)];
    known[what] = now;
    for (const trouble of now) if (!before.includes(nameOf(trouble))) say(tell(trouble));
    if (before.length > 0 && after.length === 0) say(allIsWell[what]);
  };
  const noteCards = (cards: Cards): void => {
    const conditions = conditionsOf(report.gpus, cards, wasSilent);
    wasSilent = cards.kind === 'silent';
    if (conditions !== null) learn('conditions', conditions);
  };
  const lookOnce = async (): Promise<void> => {
    lookedAt = clock.mono();
    // A driver that hangs leaves a process behind with each question, which nobody can kill.
    if (wasSilent || table === null) return;
    const look = await probeProcesses({ run: command, report });
    if (look === null) return;
    if (look.cards !== undefined) noteCards(look.cards);
    const holding = holdingOf(look.processes, pid => ownerOf(pid, table, { live, ended }), suspects);
    ({ suspects, isOpen } = holding);
    learn('holding', holding.troubles);
  };
  /** One after the other: whoever asks for a look wants one that began after that. */
  const look = (): Promise<void> => {
    last = last.then(lookOnce).catch(() => {});
    return last;
  };
  const settled = async (): Promise<void> => {
    if (isOpen && (await pause(clock, againAfterMs, never))) await look();
  };

  return {
    troubles,
    noteCards,
    settled,
    async lookNowAndThen() {
      if (isOpen || clock.mono() - lookedAt >= everyMs) await look();
    },
    follow(jobId, run) {
      const own: OwnRun = { jobId, leader: run.pid };
      live = [...live.filter(other => other.jobId !== jobId), own];
      const finished = run.finished.then(async exit => {
        live = live.filter(other => other !== own);
        ended = [...ended, own].slice(-mostEnded);
        await look();
        await settled();
        return exit;
      });
      return { ...run, finished };
    },
  };
}

const never = new AbortController().signal;
const noTroubles: readonly KnownTrouble[] = [];
const nameOf = ({ gpu, kind }: KnownTrouble): string => `${gpu} ${kind}`;
const tell = ({ gpu, detail }: KnownTrouble): string => `GPU ${gpu}: ${detail}`;
const allIsWell = {
  conditions: 'All GPUs are there again, and without errors',
  holding: 'Nobody else holds a GPU any more',
} as const;
