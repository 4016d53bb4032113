import type { SimProcess } from './process.ts';
import { createRig, type Rig, type RunningAgent } from './rig.ts';
import type { WildOptions } from './rig-wild.ts';
import type { WireRequest } from './wire.ts';

/** Creates a rig whose agent registers, keeps its stream open and sends heartbeats, but acknowledges no offer. */
export function createMuteRig(deps: WildOptions): Rig {
  return createRig({
    ...deps,
    restartMs: () => deps.random.int(2_000, 20_000),
    losePower: () => {},
    launch: (process, token) => launchAgent(deps, process, token),
  });
}

const neverEnds = new Promise<never>(() => {});
const answerMs = 10_000;
const beatMs = 8_000;

function launchAgent(
  { link, plan, workerId }: WildOptions,
  process: SimProcess,
  token: () => string,
): RunningAgent {
  const request = (method: 'GET' | 'POST', path: string, body: unknown): WireRequest => ({
    kind: 'worker',
    method,
    path: `/api/workers/${path}`,
    token: token(),
    body,
    address: `10.0.0.${plan.index + 1}`,
  });
  const post = (path: string, body: unknown): void => {
    void link.call(process, request('POST', path, body), answerMs);
  };
  const register = (): void =>
    post('register', {
      name: `host-of-${plan.name}`,
      persistent: plan.persistent,
      current_job_id: null,
      gpu_info: { name: 'RTX 4090', vram_gb: 24, count: plan.gpus, accelerator: 'cuda' },
      ...(plan.protocol === 2 && {
        protocol: 2,
        instance_id: `machine-of-${plan.name}`,
        start_id: 'start-1',
        labels: plan.labels,
        current_attempt_id: null,
      }),
    });
  const listen = (): void => {
    const reconnectLater = (): void => {
      process.clock.after(beatMs, () => {
        register();
        listen();
      });
    };
    link.connect(process, request('GET', `stream?worker_id=${workerId}`, null), {
      onOpen: () => {},
      onFrame: () => {},
      onEnd: reconnectLater,
      onError: reconnectLater,
    });
  };
  const beat = (): void => {
    post('heartbeat', { worker_id: workerId, status: 'idle', current_job_id: null });
    process.clock.after(beatMs, beat);
  };
  register();
  process.clock.after(200, listen);
  process.clock.after(beatMs, beat);
  return {
    exited: neverEnds,
    // This agent takes no offers, so treat it as busy.
    isBusy: () => true,
    leaveNow: () => post('disconnect', { worker_id: workerId }),
    handOver: () => {},
  };
}
