import type { AttemptId } from '../../protocol/ids.ts';
import type { Progress } from '../../protocol/reports.ts';
import type { RunLink } from '../../protocol/run-link.ts';
import type { ShipCall } from '../connection/api-client.ts';
import type { AttemptLogs } from '../logs/attempt-logs.ts';
import type { Clock } from '../clock.ts';
import { createLogPace, createLogShipper, leaveLogs, type LogShipper } from '../logs/log-shipper.ts';
import type { Run, RunOrigin } from '../attempt/run.ts';
import type { OnLostContact, TrainerConfig } from '../../protocol/job.ts';
import type { ExitRecord, Order } from '../guard/guard-files.ts';
import type { RunListeners } from '../attempt/run-follow.ts';

/** The parts of a job that a simulated trainer receives. */
interface SimulatedJob {
  readonly configName: string;
  readonly config: TrainerConfig;
  /** With this token, the training may upload outputs. Null when the server gave none. */
  readonly uploadToken: string | null;
}

/** A simulated training: it takes time and does nothing else. */
export interface SimulatedTraining {
  /** `tail`: the last lines of its output. */
  readonly exited: Promise<Pick<ExitRecord, 'code' | 'signal' | 'tail'>>;
  /** Has the effect of SIGTERM. */
  stop(): void;
}

export type SimulatedTrainer = (
  job: SimulatedJob,
  onProgress: (progress: Progress) => void,
  onLink: (link: RunLink) => void,
) => SimulatedTraining;

interface SimulatedRunDeps {
  readonly trainer: SimulatedTrainer;
  readonly job: SimulatedJob;
  readonly clock: Clock;
}

/**
 * Runs a simulated training like `startRun` runs a real one. Only the first order counts. A training with
 * `on_lost_contact: stop` is stopped T after the last contact. There is no guard, so a training ends when its agent
 * leaves it.
 */
export function simulateRun(origin: RunOrigin, listeners: RunListeners, deps: SimulatedRunDeps): Run {
  const { trainer, job, clock } = deps;
  let { contact } = origin;
  let stopped: Order | 'lost_contact' | null = null;
  let cancelTimer = (): void => {};
  const onProgress = (progress: Progress): void => {
    listeners.onFigures({ progress, gaps: [] }, false);
    listeners.onProgress(progress);
  };
  const training = trainer(job, onProgress, link => listeners.onLink?.(link));
  const stop = (why: Order | 'lost_contact'): void => {
    stopped ??= why;
    training.stop();
  };
  const watchContact = (onLostContact: OnLostContact): void => {
    if (onLostContact === 'continue') return;
    const leftMs = contact.sentAt + contact.timeoutMs - clock.mono();
    if (leftMs <= 0) stop('lost_contact');
    else cancelTimer = clock.after(leftMs, () => watchContact(onLostContact));
  };
  watchContact(origin.onLostContact);
  return {
    pid: process.pid,
    finished: training.exited.then(exit => {
      cancelTimer();
      return { ...exit, stopped, startError: null };
    }),
    stop: order => stop(order),
    contact(newer) {
      contact = newer;
    },
    leave: training.stop,
  };
}

/** The logs of simulated trainings. They are in memory, and are lost when their worker ends. */
export interface SimulatedLogs extends Pick<AttemptLogs, 'follow' | 'finish' | 'keepFor' | 'leave'> {
  /** Returns a function that prints progress as a bar. */
  open(origin: RunOrigin): (progress: Progress) => void;
}

export interface SimulatedLogsDeps {
  readonly ship: ShipCall;
  readonly clock: Clock;
  readonly random: () => number;
  /** Fires when the worker has left. */
  readonly signal: AbortSignal;
}

/** Maximum size of a log; older output is lost. */
const maxLogBytes = 64 * 1024;

export function createSimulatedLogs(deps: SimulatedLogsDeps): SimulatedLogs {
  const { clock } = deps;
  const pace = createLogPace(clock);
  const open = new Map<AttemptId, { readonly shipper: LogShipper; readonly print: (text: string) => void }>();
  return {
    open({ jobId, attemptId, configName }) {
      let output = Buffer.from('');
      let from = 0;
      const end = (): number => from + output.length;
      const print = (text: string): void => {
        output = Buffer.concat([output, Buffer.from(text)]);
        from += Math.max(0, output.length - maxLogBytes);
        output = output.subarray(-maxLogBytes);
      };
      print(`Training ${configName}, as if\n`);
      const shipper = createLogShipper({
        ...deps,
        attemptId,
        pace,
        log: {
          async read(offset, maxBytes) {
            const begin = Math.max(offset, from);
            return { from: begin, bytes: output.subarray(begin - from, begin - from + maxBytes) };
          },
          end: async () => end(),
        },
        ownLine: '\n',
        knownSecrets: () => [],
        ship: (chunk, signal) => deps.ship(jobId, chunk, signal),
        giveUpAfterMs: 60_000,
      });
      open.set(attemptId, { shipper, print });
      void shipper.done.then(() => open.delete(attemptId));
      return progress => print(`${barOf(progress)}\r`);
    },
    follow() {},
    // The log is in memory, so there is no folder to keep.
    keepFor() {},
    finish(attemptId) {
      const log = open.get(attemptId);
      log?.print('\nEnded\n');
      log?.shipper.finish();
    },
    leave: withinMs =>
      leaveLogs(
        [...open.values()].map(({ shipper }) => shipper),
        withinMs,
        clock,
      ),
  };
}

const barWidth = 20;

/** Formats progress as a tqdm bar without times. */
function barOf({ step = 0, total_steps: total = 0, loss }: Progress): string {
  const share = total > 0 ? Math.min(1, step / total) : 0;
  const bar = '#'.repeat(Math.round(share * barWidth)).padEnd(barWidth);
  const figures = loss === undefined || loss === null ? '' : ` [loss=${loss.toFixed(4)}]`;
  return `Steps: ${String(Math.floor(share * 100)).padStart(3)}%|${bar}| ${step}/${total}${figures}`;
}
