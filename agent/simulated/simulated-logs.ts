import type { AttemptId } from '../../protocol/ids.ts';
import type { Progress } from '../../protocol/progress.ts';
import type { ShipCall } from '../connection/api-client.ts';
import type { AttemptLogs } from '../logs/attempt-logs.ts';
import type { Clock } from '../clock.ts';
import { createLogPace, createLogShipper, leaveLogs, type LogShipper } from '../logs/log-shipper.ts';
import type { RunOrigin } from '../attempt/run.ts';

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
      let kept = Buffer.from('');
      let from = 0;
      const end = (): number => from + kept.length;
      const print = (text: string): void => {
        kept = Buffer.concat([kept, Buffer.from(text)]);
        from += Math.max(0, kept.length - maxLogBytes);
        kept = kept.subarray(-maxLogBytes);
      };
      print(`Training ${configName}, as if\n`);
      const shipper = createLogShipper({
        ...deps,
        attemptId,
        pace,
        log: {
          async read(offset, maxBytes) {
            const begin = Math.max(offset, from);
            return { from: begin, bytes: kept.subarray(begin - from, begin - from + maxBytes) };
          },
          end: async () => end(),
        },
        ownLine: '\n',
        known: () => [],
        ship: (chunk, signal) => deps.ship(jobId, chunk, signal),
        leftMs: 60_000,
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
