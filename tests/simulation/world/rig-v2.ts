import { createAgent } from '../../../agent/session/agent.ts';
import { holdWorkerToken, type TokenHolder } from '../../../agent/session/worker-token.ts';
import type { JobOffer, PreparedJob } from '../../../agent/job.ts';
import { createGuard, type Guard } from './guard.ts';
import type { SimProcess } from './process.ts';
import type { Random } from './random.ts';
import { createRig, type Rig, type RigDeps, type RunningAgent } from './rig.ts';
import type { TrainingBehaviour, TrainerYard } from './trainer.ts';
import { createFollowStream, createWireApi } from './wire-client.ts';

export interface V2Deps extends Omit<RigDeps, 'launch' | 'restartMs' | 'losePower'> {
  readonly random: Random;
  readonly yard: TrainerYard;
  readonly behaviourOf: (offer: JobOffer) => TrainingBehaviour | 'rejected' | 'start_failed';
}

/** Creates a rig with the v2 agent: the real core (agent/session/agent.ts) on the rig's simulated clock, guards and network. */
export function createV2Rig(deps: V2Deps): { readonly rig: Rig; readonly guard: Guard } {
  const { machine, random, yard } = deps;
  const healthy = (offer: JobOffer): TrainingBehaviour => {
    const behaviour = deps.behaviourOf(offer);
    if (typeof behaviour === 'string') throw new Error('this offer must not start a trainer');
    return behaviour;
  };
  const guard = createGuard({ machine, yard, random: random.fork('guard'), behaviourOf: healthy });
  let starts = 0;
  const rig = createRig({
    ...deps,
    restartMs: () => random.int(2_000, 20_000),
    losePower: guard.losePower,
    launch(process, token) {
      starts += 1;
      return launchAgent({ ...deps, guard, process, token, startId: `start-${starts}` });
    },
  });
  return { rig, guard };
}

interface LaunchDeps extends Omit<V2Deps, 'token'> {
  readonly guard: Guard;
  readonly process: SimProcess;
  readonly token: () => string;
  readonly startId: string;
}

function launchAgent(deps: LaunchDeps): RunningAgent {
  const { plan, link, guard, process, note } = deps;
  const holder = holdToken(deps.token, plan.hasTokenFile);
  const wire = { link, process, token: holder.current, address: `10.0.0.${plan.index + 1}` };
  const agent = createAgent({
    clock: process.clock,
    uptime: process.clock.mono,
    api: createWireApi(wire),
    followStream: createFollowStream(wire),
    url: 'http://orchestrator.sim',
    token: holder,
    persistent: plan.persistent,
    introduction: {
      name: `host-of-${plan.name}`,
      labels: plan.labels,
      agent_version: 'sim',
      persistent: plan.persistent,
      instance_id: `machine-of-${plan.name}`,
      start_id: deps.startId,
      multi_node: true,
      gpu_info: {
        name: 'RTX 4090',
        vram_gb: 24,
        count: plan.gpus,
        accelerator: 'cuda',
      },
    },
    state: guard.state,
    registrations: guard.registrations,
    found: guard.find(process),
    jobs: {
      ...trainingOf(deps),
      reachable: async () => ({ address: '127.0.0.1', port: 29_500 }),
      onLine: () => {},
    },
    telemetry: () => ({}),
    gpuFigures: async () => ({}),
    random: deps.random.fork(deps.startId).next,
    log: message => note(`says: ${message.slice(0, 90)}`),
  });
  let isHandedOver = false;
  return {
    exited: agent.run().then(code => ({ code, wasRejected: code === 3, isComingBack: isHandedOver })),
    isBusy: () => guard.isNeeded || deps.yard.on(deps.machine.name).length > 0,
    leaveNow: agent.leaveNow,
    handOver() {
      isHandedOver = agent.handOver();
    },
  };
}

/**
 * Prepares and starts simulated trainings. A prepared job has the attempt's id as its folder, so that `start` can find the offer.
 */
function trainingOf({ guard, process, behaviourOf }: LaunchDeps) {
  const offers = new Map<string, JobOffer>();
  const prepared: Omit<PreparedJob, 'folder'> = {
    outputDir: '',
    logFile: '',
    argv: [],
    samplesAreFiles: false,
    dataTargets: [],
    cwd: '',
    env: {},
  };
  return {
    prepare(offer: JobOffer) {
      if (behaviourOf(offer) === 'rejected')
        return { ok: false, cause: 'rejected', message: 'not on this rig' } as const;
      offers.set(offer.attempt_id, offer);
      return { ok: true, job: { ...prepared, folder: offer.attempt_id } } as const;
    },
    async start(job: PreparedJob, ...[origin, listeners]: Tail<Parameters<Guard['start']>>) {
      const offer = offers.get(job.folder);
      if (offer === undefined) throw new Error(`nothing was prepared for ${job.folder}`);
      if (behaviourOf(offer) === 'start_failed') throw new Error('spawn python ENOENT');
      return guard.start(process, offer, origin, listeners);
    },
  };
}

type Tail<T extends readonly unknown[]> = T extends readonly [unknown, unknown, ...infer R] ? R : never;

/** Holds the agent's token like agent/session/worker-token.ts. With a file, the agent can reload the owner's newest token. */
function holdToken(newest: () => string, hasFile: boolean): TokenHolder {
  let token = newest();
  return holdWorkerToken({
    current: () => token,
    reload() {
      if (!hasFile || newest() === token) return false;
      token = newest();
      return true;
    },
    file: hasFile ? '/etc/trainyard/token' : null,
  });
}
