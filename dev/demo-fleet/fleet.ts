import type { Command } from 'commander';
import { systemClock } from '../../agent/simulated/simulated-worker.ts';
import { CommandEnd, exitCodes, fail } from '../../main/cli/failure.ts';
import type { Remote } from '../../main/cli/remote.ts';
import { createDisplay, type FleetDisplay, newTally } from './display.ts';
import { planFleet, type WorkerPlan } from './hardware.ts';
import { addFleetOptions, type FleetOptions, readOptions } from './options.ts';
import { createRandom, type Random } from './random.ts';
import { removeEarlierWorkers, type CreatedWorker, createWorkers, removeAll } from './roster.ts';
import { type Submitting, submitSamples } from './sample-jobs.ts';
import { type DemoWorker, startDemoWorker } from './worker.ts';
import type { Invocation } from '../../main/cli/invocation.ts';
import { remoteCommand } from '../../main/cli/remote-command.ts';

interface FleetContext {
  readonly remote: Remote;
  readonly options: FleetOptions;
  readonly random: Random;
  readonly display: FleetDisplay;
  /** Fires when the user stops the demo. */
  readonly stopSignal: AbortSignal;
}

/** Runs a fleet until the signal fires or all workers have exited. Then deletes the workers, unless `keep` is set. */
async function runFleet(remote: Remote, options: FleetOptions, stopSignal: AbortSignal): Promise<void> {
  const display = createDisplay(remote);
  const random = createRandom(options.seed);
  const context = { remote, options, random, display, stopSignal };
  const { removed, remaining, usedNames } = await removeEarlierWorkers(remote);
  if (removed.length > 0) display.log(`Removed ${removed.length} workers of an earlier demo`);
  if (remaining.length > 0)
    display.log(
      `Kept ${remaining.length} demo workers that are not offline, because their demo runs or ended a moment ago`,
    );
  const fleet = createFleet(context, planFleet(options.shape, random, usedNames));
  try {
    await fleet.start();
    await fleet.waitUntilOver();
  } catch (cause) {
    await fleet.end().catch(logFailure(display));
    throw cause;
  }
  await fleet.end();
}

function createFleet(context: FleetContext, plans: readonly WorkerPlan[]) {
  const { remote, options, random, display, stopSignal } = context;
  const tally = newTally();
  const createdWorkers: CreatedWorker[] = [];
  const workers: DemoWorker[] = [];
  let submitting: Submitting | null = null;
  const showStatus = (): void =>
    display.status({ ...tally, workers: workers.length, submitted: submitting?.count() ?? null });

  const join = (created: CreatedWorker): void => {
    const { plan, id, token } = created;
    const { machine, labels, name } = plan;
    createdWorkers.push(created);
    display.event(
      { type: 'worker', id, name, gpu_name: machine.gpuName, gpu_count: machine.gpuCount, labels },
      `${name}  ${id}  ${machine.gpuCount} x ${machine.gpuName}, ${machine.vramGb} GB` +
        `${plan.isEphemeral ? ', ephemeral' : ''}${plan.isFlaky ? ', flaky' : ''}`,
    );
    const log = (message: string): void => {
      if (options.verbose) display.log(`${name}: ${message}`);
    };
    const { url } = remote.connection();
    const common = { url, fetch: remote.fetch, habits: options.habits, random, clock: systemClock, tally };
    workers.push(startDemoWorker({ ...common, plan, token, log }));
  };

  return {
    async start() {
      await createWorkers(remote, plans, join, () => stopSignal.aborted);
      display.event(
        { type: 'ready', workers: workers.length, url: remote.connection().url },
        `${workers.length} workers are ready. Press Ctrl-C to ${options.keep ? 'stop' : 'remove'} them`,
      );
      if (!stopSignal.aborted) submitting = startSubmitting(context, plans);
    },
    async waitUntilOver() {
      const intervalMs = remote.terminal.outScreen() === null ? 5_000 : 1_000;
      showStatus();
      const timer = setInterval(showStatus, intervalMs);
      const allExited = Promise.all(workers.map(({ exited }) => exited));
      await Promise.race([aborted(stopSignal), allExited]);
      clearInterval(timer);
      display.log(
        stopSignal.aborted
          ? 'Stopping the workers. Press Ctrl-C again to exit immediately'
          : 'All workers have left',
      );
    },
    async end() {
      display.close();
      await submitting?.stop().catch(logFailure(display));
      for (const worker of workers) worker.leaveNow();
      await Promise.all(workers.map(({ exited }) => exited));
      showStatus();
      display.close();
      await (options.keep ? undefined : removeWorkers(context, createdWorkers));
    },
  };
}

/** Starts submitting sample jobs. Returns null when the demo submits none. */
function startSubmitting(
  { remote, options, random, display }: FleetContext,
  plans: readonly WorkerPlan[],
): Submitting | null {
  const [first, ...others] = plans.map(({ machine }) => machine);
  const { submitEveryMs: everyMs } = options;
  if (everyMs === null || first === undefined) return null;
  let lastFailure: string | null = null;
  return submitSamples({
    remote,
    machines: [first, ...others],
    everyMs,
    random: random.fork('samples'),
    clock: systemClock,
    onTrouble: message => {
      if (message !== null && message !== lastFailure) display.log(`Submitting a job failed: ${message}`);
      lastFailure = message;
    },
  });
}

async function removeWorkers(
  { remote, display }: FleetContext,
  createdWorkers: readonly CreatedWorker[],
): Promise<void> {
  const failures = await removeAll(
    remote,
    createdWorkers.map(({ id }) => id),
  );
  const removed = createdWorkers.length - failures.size;
  display.event({ type: 'removed', workers: removed }, `Removed ${removed} workers`);
  const [firstReason] = failures.values();
  if (firstReason !== undefined)
    fail(
      exitCodes.failed,
      `${failures.size} workers could not be removed, and the next demo will remove them. ${firstReason}`,
    );
}

/** Displays a failure that should not end the command. */
const logFailure =
  (display: FleetDisplay) =>
  (cause: unknown): void => {
    if (!(cause instanceof CommandEnd)) throw cause;
    display.log(cause.failure.message);
  };

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise(resolve => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });

/** `npm run demo-fleet`: many simulated workers in one process. */
export const demoFleetCommand = (invocation: Invocation): Command =>
  remoteCommand(invocation, {
    name: 'demo-fleet',
    description: 'Run simulated workers until Ctrl-C. They need no GPU and train nothing',
    shape: addFleetOptions,
    act: remote => runFleet(remote, readOptions(remote.flags), untilSignal(invocation)),
  });

/** Returns a signal that fires on Ctrl-C. On a second Ctrl-C, the process exits, and the next demo removes its workers. */
function untilSignal({ onSignal }: Invocation): AbortSignal {
  const controller = new AbortController();
  const stop = (): void => {
    if (controller.signal.aborted) process.exit(exitCodes.interrupted);
    controller.abort();
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) onSignal(signal, stop);
  return controller.signal;
}
