import { JobId } from '../../../protocol/ids.ts';
import { startV1Agent } from '../../support/v1-agent.ts';
import type { V1Job } from '../../support/v1-events.ts';
import type { V1Answer, V1Http, V1StreamItem } from '../../support/v1-http.ts';
import { createManualRun, type FakeRun } from '../../support/v1-trainer.ts';
import type { V1Wait } from '../../support/v1-waits.ts';
import type { Link } from './link.ts';
import type { SimProcess } from './process.ts';
import type { Random } from './random.ts';
import { createRig, type Rig, type RigDeps, type RunningAgent } from './rig.ts';
import type { Exit, TrainingBehaviour, TrainerYard } from './trainer.ts';

export interface V1Deps extends Omit<RigDeps, 'launch' | 'restartMs' | 'losePower'> {
  readonly random: Random;
  readonly yard: TrainerYard;
  readonly behaviourOf: (job: V1Job) => TrainingBehaviour;
}

/**
 * Creates a rig with SimpleTuner's published agent (v1), as tests/support/v1-agent.ts models it, on the rig's simulated clock,
 * trainers and network.
 */
export function createV1Rig(deps: V1Deps): Rig {
  return createRig({
    ...deps,
    restartMs: () => deps.random.int(2_000, 20_000),
    losePower() {
      for (const trainer of deps.yard.on(deps.machine.name)) trainer.kill();
    },
    launch: (process, token) => launchAgent(deps, process, token()),
  });
}

function launchAgent(deps: V1Deps, process: SimProcess, token: string): RunningAgent {
  const { plan, link } = deps;
  const agent = startV1Agent({
    url: 'http://orchestrator.sim',
    token,
    tokenFrom: 'environment',
    name: `host-of-${plan.name}`,
    persistent: plan.persistent,
    gpuInfo: {
      name: 'RTX 4090',
      vram_gb: 24,
      count: plan.gpus,
      accelerator: 'cuda',
    },
    wait: waitOn(process),
    http: () => createWireHttp(link, process, token, `10.0.0.${plan.index + 1}`),
    trainer: job => startTrainer(deps, process, job),
  });
  process.onDeath(() => agent.kill());
  return {
    exited: agent.events.waitFor('exited').then(({ code, cause }) => ({
      code,
      wasRejected: cause === 'unauthorized',
      isComingBack: false,
    })),
    isBusy: () => agent.currentJob !== null || agent.isLeaving,
    leaveNow: () => void agent.stop().catch(() => {}),
    handOver: () => {},
  };
}

const waitOn =
  (process: SimProcess): V1Wait =>
  (ms, _reason, signal) =>
    new Promise(resolve => {
      const cancel = process.clock.after(ms, resolve);
      signal.addEventListener('abort', () => {
        cancel();
        resolve();
      });
    });

/**
 * Starts a trainer whose output the agent reads through a pipe. The trainer survives a kill -9 of the agent
 * (docs/internals/worker-contract.md, section 3, item 12).
 */
function startTrainer(deps: V1Deps, process: SimProcess, job: V1Job): FakeRun {
  const what = { jobId: JobId.parse(job.jobId), attemptId: null };
  const trainer = deps.yard.start(deps.machine, what, { ...deps.behaviourOf(job), childrenMs: 0 });
  const run = createManualRun(job);
  trainer.onPrint(step => {
    // After the agent's death, no process reads the output, so the next line kills the trainer.
    if (process.isAlive) process.deliver(() => run.exitCode() ?? run.print(`step ${step}`));
    else trainer.kill();
  });
  trainer.onExit(exit => process.deliver(() => run.exit(codeOf(exit))));
  return { ...run, signal: name => (name === 'SIGTERM' ? trainer.term() : trainer.kill()) };
}

const signals = { SIGTERM: -15, SIGKILL: -9, SIGSEGV: -11 } as const;
const codeOf = ({ code, signal }: Exit): number => (signal === null ? (code ?? 0) : signals[signal]);

/** Implements the HTTP interface of tests/support/v1-http.ts on a simulated network. */
function createWireHttp(link: Link, process: SimProcess, token: string, address: string): V1Http {
  const request = (method: 'GET' | 'POST', path: string, body: unknown) =>
    ({ kind: 'worker', method, path, token, address, body }) as const;
  const call = async (
    method: 'GET' | 'POST',
    path: string,
    body: unknown,
    timeoutMs: number,
    signal?: AbortSignal,
  ): Promise<V1Answer> => {
    const wireBody = body === null ? null : JSON.parse(JSON.stringify(body));
    const answer = await Promise.race([
      link.call(process, request(method, path, wireBody), timeoutMs),
      ...(signal === undefined ? [] : [untilAborted(signal)]),
    ]);
    if (answer.kind === 'failed') throw new Error(answer.code);
    return { status: answer.status, body: answer.body };
  };
  return {
    get: (path, timeoutMs) => call('GET', path, null, timeoutMs),
    post: (path, body, timeoutMs, signal) => call('POST', path, body, timeoutMs, signal),
    stream: (path, signal, onLine) =>
      new Promise((resolve, reject) => {
        const inbox = createInbox();
        const receiveLine = (text: string): void => {
          onLine(text);
          inbox.put({ kind: 'line', text });
        };
        const fail = (error: Error): void => {
          reject(error);
          inbox.put({ kind: 'error', error });
        };
        const connection = link.connect(process, request('GET', path, null), {
          onOpen(status) {
            resolve({ status, next: inbox.next });
            receiveLine(': open');
          },
          onFrame: frame => receiveLine(`data: ${JSON.stringify(frame)}`),
          onEnd: () => inbox.put({ kind: 'end' }),
          onError: () => fail(new Error('ECONNRESET')),
        });
        signal.addEventListener('abort', () => {
          connection.close();
          fail(new Error('aborted'));
        });
      }),
  };
}

const untilAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(new Error('aborted')));
  });

function createInbox() {
  const items: V1StreamItem[] = [];
  let taker: ((item: V1StreamItem) => void) | null = null;
  return {
    put(item: V1StreamItem): void {
      if (taker === null) items.push(item);
      else taker(item);
      taker = null;
    },
    next: (): Promise<V1StreamItem> =>
      new Promise(resolve => {
        const item = items.shift();
        if (item === undefined) taker = resolve;
        else resolve(item);
      }),
  };
}
