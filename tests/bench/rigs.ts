import { setTimeout } from 'node:timers/promises';
import { type Followed, type Lane, openLane } from './lane.ts';
import { type BenchProgram, benchFolder, buildServer, startServer } from './program.ts';
import { enrol, followOrders, type Identity, heartbeatBody, type Offer, register } from './workers.ts';

/** A worker with the connections of an agent: one for calls, and one for its stream. */
export interface Rig {
  readonly identity: Identity;
  readonly lane: Lane;
  /** Opens the stream of orders. */
  openStream(): Promise<void>;
  isOpen(): boolean;
  /** Resets the stream. */
  cut(): void;
  close(): void;
}

interface RigTerms {
  readonly onOffer?: (offer: Offer, rig: Rig) => void;
  /** Called when the stream ends, unless `cut` or `close` ended it. */
  readonly onLost?: (rig: Rig) => void;
}

export function createRig(
  server: BenchProgram,
  identity: Identity,
  { onOffer = () => {}, onLost = () => {} }: RigTerms = {},
): Rig {
  const lane = openLane(server.url, identity.headers);
  let stream: Followed | null = null;
  const leave = (how: 'cut' | 'close'): void => {
    const left = stream;
    stream = null;
    left?.[how]();
  };
  const rig: Rig = {
    identity,
    lane,
    async openStream() {
      const opened = await followOrders(server, identity, offer => onOffer(offer, rig));
      stream = opened;
      void opened.ended.then(() => {
        if (stream !== opened) return;
        stream = null;
        onLost(rig);
      });
    },
    isOpen: () => stream !== null,
    cut: () => leave('cut'),
    close() {
      leave('close');
      lane.close();
    },
  };
  return rig;
}

/** Opens the streams a few at a time. */
export async function openStreams(rigs: readonly Rig[], atOnce = 32): Promise<void> {
  const left = [...rigs];
  const openNext = async (): Promise<void> => {
    for (let rig = left.pop(); rig !== undefined; rig = left.pop()) await rig.openStream();
  };
  await Promise.all(Array.from({ length: atOnce }, openNext));
}

/** Resources that the built server uses while its workers only send heartbeats. */
interface AtRest {
  /** Resident memory in MiB before the first worker registers, and at the end. */
  readonly bareMib: number;
  readonly mib: number;
  /** Share of one processor, from 0 to 1. */
  readonly share: number;
  readonly intervalS: number;
  readonly sent: number;
  readonly unanswered: number;
  readonly lost: number;
}

/** Measures the server for `watchedMs`, after a pause of `settleMs` in which it comes to rest. */
export async function watchAtRest(workers: number, settleMs: number, watchedMs: number): Promise<AtRest> {
  const server = await startServer(benchFolder(), [], { program: buildServer() });
  const bareMib = server.memoryMib();
  const rigs = (await enrol(server, workers)).map(identity => createRig(server, identity));
  const [first] = rigs;
  if (first === undefined) throw new Error('There is no worker.');
  const { heartbeat_interval_s: intervalS } = await register(first.lane, first.identity);
  await openStreams(rigs);
  const heartbeats = startHeartbeats(rigs, intervalS);
  await setTimeout(settleMs);
  const startedAt = performance.now();
  const cpuAtStart = server.cpuSeconds();
  await setTimeout(watchedMs);
  const share = (server.cpuSeconds() - cpuAtStart) / ((performance.now() - startedAt) / 1_000);
  const mib = server.memoryMib();
  const beats = await heartbeats.stop();
  const lost = rigs.filter(rig => !rig.isOpen()).length;
  for (const rig of rigs) rig.close();
  await server.close();
  return { bareMib, mib, share, intervalS, lost, ...beats };
}

interface HeartbeatLoad {
  /** Stops sending heartbeats, after up to five seconds for those that are not answered yet. */
  stop(): Promise<{ readonly sent: number; readonly unanswered: number }>;
}

const lastAnswersMs = 5_000;

/**
 * Sends the heartbeats of idle workers, spread evenly over their interval. Each one is sent on time, even when others
 * are late.
 */
function startHeartbeats(rigs: readonly Rig[], intervalS: number): HeartbeatLoad {
  const bodies = rigs.map(({ identity }) => heartbeatBody(identity));
  const begun = performance.now();
  let sent = 0;
  let answered = 0;
  const timer = setInterval(() => {
    const due = ((performance.now() - begun) / 1_000 / intervalS) * rigs.length;
    for (; sent < due; sent += 1) {
      const n = sent % rigs.length;
      const call = rigs[n]?.lane.call('/api/workers/heartbeat', bodies[n] ?? '');
      call?.then(({ status }) => void (answered += status === 200 ? 1 : 0)).catch(() => {});
    }
  }, 10);
  return {
    async stop() {
      clearInterval(timer);
      const until = performance.now() + lastAnswersMs;
      while (answered < sent && performance.now() < until) await setTimeout(10);
      return { sent, unanswered: sent - answered };
    },
  };
}
