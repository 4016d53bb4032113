import type { JobId } from '../../protocol/ids.ts';
import { pause } from '../retry/retry.ts';
import type { Clock } from '../clock.ts';
import { type Cards, conditionsOf, type KnownTrouble } from './conditions.ts';
import { holdingOf, ownerOf, type OwnRun, type ProcessTable } from './holders.ts';
import { probeProcesses } from './processes.ts';
import type { GpuReport, RunCommand } from './probe.ts';
import type { Run } from '../attempt/run.ts';

export interface GpuWatchDeps {
  readonly run: RunCommand;
  /** The chosen GPUs. */
  readonly report: GpuReport;
  readonly clock: Clock;
  /** Looks up processes; null on platforms without a process table. The worker then reports no GPU as held. */
  readonly table: ProcessTable | null;
  readonly log: (message: string) => void;
  /** Troubles that the probe at the worker's start found. They last until the worker restarts. */
  readonly presentAtStart?: readonly KnownTrouble[];
  /**
   * The job of a run that an earlier process of this agent started. The run counts as current until `follow` is called
   * for it.
   */
  readonly found?: JobId | null;
}

/** Tracks the troubles of this worker's GPUs. */
export interface GpuWatch {
  /** Returns the troubles from the worker's start, from the last GPU list, and from the last check of the processes. */
  troubles(): readonly KnownTrouble[];
  /** Records the GPU list of a probe that was made for metrics. */
  noteCards(cards: Cards): void;
  /** Checks which processes are on the GPUs, if a check is due. Never rejects. */
  checkIfDue(): Promise<void>;
  /** If the last check found a new suspect, waits and checks again, to confirm or clear it. */
  confirmSuspects(): Promise<void>;
  /** Wraps a run, so that `finished` resolves only after a check for processes that the run left on the GPUs. */
  follow(jobId: JobId, run: Run): Run;
}

/** Interval of checks in ms, even if heartbeats are more frequent: the tools use CPU time and the driver's lock. */
const everyMs = 30_000;
/** The pause in ms before a second check. The driver needs some time to free the memory of a killed process. */
const confirmAfterMs = 2_000;
/** The number of ended runs to remember. Processes of older runs are not expected to remain. */
const maxEnded = 8;

export function createGpuWatch(deps: GpuWatchDeps): GpuWatch {
  const { run: command, report, clock, table, log, found = null, presentAtStart = noTroubles } = deps;
  const reported = { conditions: noTroubles, holding: noTroubles };
  let wasSilent = false;
  let suspects: ReadonlySet<string> = new Set();
  let needsConfirmation = false;
  let checkedAt = Number.NEGATIVE_INFINITY;
  let lastCheck: Promise<void> = Promise.resolve();
  let live: readonly OwnRun[] = found === null ? [] : [{ jobId: found, leader: null }];
  let ended: readonly OwnRun[] = [];

  const troubles = (): readonly KnownTrouble[] => [
    ...presentAtStart,
    ...reported.conditions,
    ...reported.holding,
  ];
  const recordTroubles = (source: keyof typeof reported, now: readonly KnownTrouble[]): void => {
    const before = reported[source].map(nameOf);
    reported[source] = now;
    for (const trouble of now) if (!before.includes(nameOf(trouble))) log(describe(trouble));
    if (before.length > 0 && now.length === 0) log(recoveredMessages[source]);
  };
  const noteCards = (cards: Cards): void => {
    const conditions = conditionsOf(report.gpus, cards, wasSilent);
    wasSilent = cards.kind === 'silent';
    if (conditions !== null) recordTroubles('conditions', conditions);
  };
  const checkOnce = async (): Promise<void> => {
    checkedAt = clock.mono();
    // Each query of a driver that hangs leaves a process that cannot be killed.
    if (wasSilent || table === null) return;
    const probed = await probeProcesses({ run: command, report });
    if (probed === null) return;
    if (probed.cards !== undefined) noteCards(probed.cards);
    const holding = holdingOf(probed.processes, pid => ownerOf(pid, table, { live, ended }), suspects);
    ({ suspects, needsConfirmation } = holding);
    recordTroubles('holding', holding.troubles);
  };
  /** Runs one check at a time. Each caller gets a check that starts after its call. */
  const check = (): Promise<void> => {
    lastCheck = lastCheck.then(checkOnce).catch(() => {});
    return lastCheck;
  };
  const confirmSuspects = async (): Promise<void> => {
    if (needsConfirmation && (await pause(clock, confirmAfterMs, never))) await check();
  };

  return {
    troubles,
    noteCards,
    confirmSuspects,
    async checkIfDue() {
      if (needsConfirmation || clock.mono() - checkedAt >= everyMs) await check();
    },
    follow(jobId, run) {
      const started: OwnRun = { jobId, leader: run.pid };
      live = [...live.filter(other => other.jobId !== jobId), started];
      const finished = run.finished.then(async exit => {
        live = live.filter(other => other !== started);
        ended = [...ended, started].slice(-maxEnded);
        await check();
        await confirmSuspects();
        return exit;
      });
      return { ...run, finished };
    },
  };
}

const never = new AbortController().signal;
const noTroubles: readonly KnownTrouble[] = [];
const nameOf = ({ gpu, kind }: KnownTrouble): string => `${gpu} ${kind}`;
const describe = ({ gpu, detail }: KnownTrouble): string => `GPU ${gpu}: ${detail}`;
const recoveredMessages = {
  conditions: 'All GPUs are available again, without errors',
  holding: 'No other process uses a GPU any more',
} as const;
