import { setTimeout as pause } from 'node:timers/promises';
import { workersApi } from '../../../protocol/admin-api.ts';
import type { LaunchId } from '../../../protocol/ids.ts';
import type { LaunchView } from '../../../protocol/pool.ts';
import { poolsApi } from '../../../protocol/pools-api.ts';
import { exitCodes, fail } from '../failure.ts';
import { numberOf, timeSpan } from '../flags.ts';
import { persist } from '../live.ts';
import { printOne } from '../output.ts';
import { createDisplay, duration } from '../progress-bar.ts';
import type { RemoteSpec } from '../remote-command.ts';
import type { Remote } from '../remote.ts';
import { type Fact, plain } from '../table.ts';
import { findPool, launchDetail, launchStatus, withPoolArgument } from './pool.ts';

/** Interval between requests. A test takes seconds to hours, so an event stream would save little. */
const pollMs = 1_000;

/** The GPUs that the test's worker has reported. */
interface FoundGpus {
  readonly count: number;
  readonly name: string | null;
}

export const test: RemoteSpec = {
  name: 'test',
  description: 'Launch one machine that joins and leaves again, and show how long each step takes',
  examples: ['trainyard pools test gpu', 'trainyard pools test gpu --timeout 30m --json'],
  shape: command =>
    withPoolArgument(command).option(
      '--timeout <time>',
      'end the launch when the test takes longer (default: no limit)',
      timeSpan,
    ),
  async act(remote, [word], { onSignal }) {
    const { pool_id: id, name } = await findPool(remote, word);
    const check = await remote.request(poolsApi.check, { params: { id } });
    if (!check.ok)
      fail(
        exitCodes.failed,
        `Nothing was launched: the engine of pool ${name} does not accept orders: ${check.detail}`,
      );
    const { launch_id: launchId } = await remote.request(poolsApi.test, { params: { id } });
    const stop = createStop(remote, launchId);
    onSignal('SIGINT', () => stop.now('Interrupted', exitCodes.interrupted));
    const cancelLimit = startLimit(numberOf(remote.flags, 'timeout'), stop);
    const { launch, gpus } = await follow(remote, launchId).finally(cancelLimit);
    conclude(remote, launch, gpus, stop.cause());
  },
};

interface StopCause {
  readonly why: string;
  readonly code: number;
}

/** The longest delay that Node's timers support. */
const maxTimerMs = 2 ** 31 - 1;

/** Stops the test after a number of seconds. Returns a function that cancels the limit. */
function startLimit(seconds: number | null, stop: ReturnType<typeof createStop>): () => void {
  if (seconds === null) return () => undefined;
  const why = `The test took longer than ${duration(seconds)}`;
  const timer = setTimeout(() => stop.now(why, exitCodes.failed), Math.min(seconds * 1_000, maxTimerMs));
  return () => clearTimeout(timer);
}

/** Creates the handle that ends the launch early. On a second interrupt, the program exits without waiting. */
function createStop({ call, terminal }: Remote, id: LaunchId) {
  let cause: StopCause | null = null;
  return {
    cause: () => cause,
    now(why: string, code: number) {
      if (cause !== null && code === exitCodes.interrupted) process.exit(code);
      cause ??= { why, code };
      terminal.err(`\n${why}: ending the launch. To leave without waiting, press Ctrl-C\n`);
      void call(poolsApi.endLaunch, { params: { id } }).then(answer => {
        if (answer.ok) return;
        terminal.err(`The launch was not ended. To end it, run "trainyard pools end ${id}"\n`);
      });
    },
  };
}

/** Shows each state of the launch on stderr until the launch has ended. Reconnects after the connection is lost. */
async function follow(remote: Remote, id: LaunchId) {
  const { terminal, request } = remote;
  const display = createDisplay<{ readonly percent?: number; readonly text: string }>(
    terminal.err,
    terminal.errScreen,
    ({ text }) => text,
  );
  let gpus: FoundGpus | null = null;
  let last = '';
  let since = Date.now();
  let isLeaving = false;
  const show = (launch: LaunchView): void => {
    const line = stepText(launch);
    if (line !== last) {
      display.finish();
      terminal.err(`${plain(line)}\n`);
      last = line;
      since = Date.now();
    }
    display.show({ text: `  for ${duration((Date.now() - since) / 1_000)}` });
  };
  const launch = await persist(remote, async onReached => {
    for (;;) {
      const latest = await request(poolsApi.launch, { params: { id } });
      onReached();
      // A launch can pass the state "ending" between two requests. Show that state anyway.
      if (latest.state === 'ended' && latest.joined_at !== null && !isLeaving)
        show({ ...latest, state: 'ending' });
      if (latest.state === 'ended') return latest;
      isLeaving = latest.state === 'ending';
      show(latest);
      if (latest.joined_at !== null) gpus ??= await fetchGpus(remote, latest);
      await pause(pollMs);
    }
  });
  display.finish();
  return { launch, gpus };
}

/** Returns null when the token may not read workers, or the worker is unregistered or already removed. */
async function fetchGpus({ call }: Remote, { worker_id: id }: LaunchView): Promise<FoundGpus | null> {
  const answer = await call(workersApi.get, { params: { id } });
  if (!answer.ok || answer.value.registered_at === null) return null;
  return { count: answer.value.gpu_count, name: answer.value.gpu_name };
}

const stepTexts: { readonly [S in LaunchView['state']]: (launch: LaunchView) => string } = {
  wanted: () => 'Ordering',
  submitting: () => 'Ordering',
  unclear: () => 'Waiting for the engine to confirm',
  waiting: ({ engine_id: id }) => `Waiting in the engine as ${id ?? '?'}`,
  running: ({ machines }) => `Started${machines.length === 0 ? '' : ` on ${machines.join(', ')}`}`,
  joined: ({ worker_name: name }) => `Joined as ${name}`,
  ending: () => 'Leaving',
  ended: () => 'Ended',
};

function stepText(launch: LaunchView): string {
  const detail = launchDetail(launch);
  return `${stepTexts[launch.state](launch)}${detail === '' ? '' : `: ${detail}`}`;
}

/**
 * Returns the duration of each step in seconds; null for a step that was not reached.
 *
 * @internal
 */
export function phasesOf(launch: LaunchView) {
  const { ordered_at: ordered, submitted_at: submitted, started_at: started } = launch;
  const { joined_at: joined, ended_at: ended } = launch;
  return {
    ordered_s: secondsBetween(ordered, submitted),
    queued_s: secondsBetween(submitted, started),
    started_s: secondsBetween(started, joined),
    joined_s: secondsBetween(joined, ended),
  };
}

/** Returns null if a time is missing. Never returns less than 0, although the engine's clock may differ from the server's. */
const secondsBetween = (from: string | null, to: string | null): number | null =>
  from === null || to === null
    ? null
    : Math.max(0, Math.round((Date.parse(to) - Date.parse(from)) / 100) / 10);

const phaseText = (seconds: number | null, end: string): string | null =>
  seconds === null ? null : `${seconds < 60 ? `${seconds} s` : duration(seconds)} until ${end}`;

/** Prints the result; ends the command when the test failed. */
function conclude(
  remote: Remote,
  launch: LaunchView,
  gpus: FoundGpus | null,
  stopped: StopCause | null,
): void {
  const failure = stopped === null ? failureOfTest(launch, gpus?.count ?? null) : stopped.why;
  const phases = phasesOf(launch);
  const answer = {
    ...launch,
    passed: failure === null,
    phases,
    found_gpus: gpus?.count ?? null,
    found_gpu_name: gpus?.name ?? null,
  };
  printOne(remote, { answer, facts: testFacts(answer) });
  if (failure !== null) fail(stopped?.code ?? exitCodes.failed, failure);
}

type TestAnswer = LaunchView & {
  readonly passed: boolean;
  readonly phases: ReturnType<typeof phasesOf>;
  readonly found_gpus: number | null;
  readonly found_gpu_name: string | null;
};

const testFacts = (answer: TestAnswer): readonly Fact[] => {
  const { passed, phases, found_gpus: count, found_gpu_name: name } = answer;
  return [
    ['Test', passed ? 'passed' : 'failed'],
    [
      'Launch',
      `${answer.launch_id}${answer.engine_id === null ? '' : `, ${answer.engine_id} in the engine`}`,
    ],
    ['Node', answer.machines.join(', ') || null],
    [
      'GPUs',
      `${answer.gpus} ordered${count === null ? '' : `, ${count} found${name === null ? '' : ` (${name})`}`}`,
    ],
    ['Ordered', phaseText(phases.ordered_s, 'the engine accepted it')],
    ['Queued', phaseText(phases.queued_s, 'the machine started')],
    ['Started', phaseText(phases.started_s, 'the worker joined')],
    ['Joined', phaseText(phases.joined_s, 'the machine was released')],
    ['Outcome', launchStatus(answer)],
    ['Details', answer.detail],
  ];
};

const remedies: Readonly<Record<NonNullable<LaunchView['outcome']>, string>> = {
  finished: '',
  not_needed: 'Run the test again',
  cancelled: 'Somebody ended the launch. Run the test again',
  rejected: 'The engine refused the machine. Change the settings with "trainyard pools set"',
  never_joined:
    'The machine started, but its worker did not register. Check on the machine that it reaches the address of the join commands ("trainyard settings get public_url"), and that the setup lines and worker options work there',
  failed: 'The machine or its start script failed. Read its output in the engine, and check the setup lines',
  preempted: 'The engine took the machine away. Run the test again, or use a queue with a higher priority',
  timeout: 'The wall time was over. Raise it with "trainyard pools set --wall-time"',
  unknown: 'The engine no longer lists the launch. Look it up in the engine, and run the test again',
};

/**
 * Returns a text that says why the test failed and what to do; null when it passed.
 *
 * @internal
 */
export function failureOfTest(launch: LaunchView, gpusFound: number | null): string | null {
  const { outcome, joined_at: joined, detail, gpus, pool } = launch;
  if (outcome === 'finished' && joined !== null)
    return gpusFound === null || gpusFound >= gpus
      ? null
      : `The worker found ${gpusFound} of ${gpus} GPUs. Check the driver on the machine, or set what it has: "trainyard pools set ${pool} --gpus ${gpusFound}"`;
  // A launch that finished before its worker joined counts as never joined.
  const cause = outcome === null || outcome === 'finished' ? 'never_joined' : outcome;
  const reason = detail === null ? '' : `${detail.replace(/\.$/, '')}. `;
  return `The test of pool ${pool} failed: ${reason}${remedies[cause]}`;
}
