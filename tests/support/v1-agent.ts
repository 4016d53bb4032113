/**
 * A model of SimpleTuner's published worker agent ("v1"), for tests of the server. It also reproduces the agent's bugs,
 * because the server must support the unmodified agent. Numbers in brackets are items of
 * docs/internals/worker-contract.md, section 3. The test provides the trainer (v1-trainer.ts) and controls the time
 * (v1-waits.ts).
 *
 *   register -> stream + heartbeats -> stream ended: register again immediately [9]
 *                                   -> error: 10 s, register again [9]
 *                                   -> 401, or a line of the stream after the shutdown flag [11]: stop job, goodbye
 */
import { createCore, requestShutdown, type V1AgentOptions, type V1Core } from './v1-core.ts';
import { createV1Events, type V1Events, type V1ExitCause, type V1Observation } from './v1-events.ts';
import { V1StatusError } from './v1-http.ts';
import { stopCurrentJob } from './v1-job.ts';
import { followStream, register } from './v1-session.ts';
import type { FakeRun } from './v1-trainer.ts';

const RECONNECT_MS = 10_000;
const DISCONNECT_TIMEOUT_MS = 5_000;

export interface V1Agent {
  readonly events: V1Events;
  /** Id of the job that the agent believes it is running; null when idle. */
  readonly currentJob: string | null;
  /** True when the shutdown flag is set. The agent acts on the flag at the next line of the stream [11]. */
  readonly isLeaving: boolean;
  /**
   * Sends SIGTERM [14]. The agent handles the signal only while it does not block on its trainer's output. Resolves when the
   * agent has exited. Another line or the end of the stream must arrive first, because the agent checks its flag only then [11].
   */
  stop(): Promise<void>;
  /**
   * Simulates kill -9: destroys all sockets without a goodbye. Returns the trainer, which keeps running; null when none runs
   * [12].
   */
  kill(): FakeRun | null;
}

/**
 * Starts one agent process, which runs until it exits by itself or by `stop` or `kill`. To simulate a restart, start another
 * agent.
 */
export function startV1Agent(options: V1AgentOptions): V1Agent {
  const dead = new AbortController();
  const events = createV1Events();
  let hasExited = false;
  const emit = (observation: V1Observation): void => {
    if (!hasExited) events.emit(observation);
  };
  const core = createCore(options, emit, dead.signal);

  function exit(code: number, cause: V1ExitCause): void {
    if (hasExited) return;
    emit({ kind: 'exited', code, cause });
    hasExited = true;
    core.loop.halt();
    dead.abort();
  }

  if (core.config.tokenFrom === 'argument' && core.config.token.startsWith('-')) exit(2, 'usage');
  else void runAgent(core).then(cause => exit(cause === 'crashed' ? 1 : 0, cause));

  return {
    events,
    get currentJob() {
      return core.state.currentJob?.jobId ?? null;
    },
    get isLeaving() {
      return core.state.isShutdownRequested;
    },
    async stop() {
      void handleTermination(core);
      await events.waitFor('exited');
    },
    kill() {
      exit(-9, 'killed');
      return core.state.run?.exitCode() === null ? core.state.run : null;
    },
  };
}

/** Runs the agent from its start to its disconnect. It disconnects even after a 401, with the rejected token [11]. */
async function runAgent(core: V1Core): Promise<V1ExitCause> {
  let cause: V1ExitCause = 'shutdown';
  while (!core.state.isShutdownRequested) {
    try {
      await register(core);
      await followStream(core);
    } catch (error) {
      const status = error instanceof V1StatusError ? error.status : null;
      core.emit({ kind: 'connectionLost', status, message: String(error) });
      if (status === 401) {
        cause = 'unauthorized';
        break;
      }
      await core.pause(RECONNECT_MS, 'reconnect');
    }
  }
  try {
    await stopCurrentJob(core);
  } catch {
    return 'crashed'; // the agent cannot report a job without an id
  }
  await disconnect(core);
  return cause;
}

/** Handles SIGTERM: sets the shutdown flag and signals the trainer, whose watcher then reports code -15 [14]. */
async function handleTermination(core: V1Core): Promise<void> {
  const { loop, state } = core;
  await loop.turn();
  requestShutdown(core, 'signal');
  if (state.run?.exitCode() === null) state.run.signal('SIGTERM');
}

async function disconnect({ state, loop, http, emit }: V1Core): Promise<void> {
  if (state.workerId === null) return;
  const body = { worker_id: state.workerId };
  const answerStatus = await loop.io(http.post('/api/workers/disconnect', body, DISCONNECT_TIMEOUT_MS)).then(
    answer => answer.status,
    () => null,
  );
  emit({ kind: 'disconnectPosted', answerStatus });
}
