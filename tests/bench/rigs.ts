import { setTimeout } from 'node:timers/promises';
import { type EventStream, type HttpConnection, openConnection } from './http-connection.ts';
import { type BenchProgram, createBenchFolder, buildServer, startServer } from './program.ts';
import {
  createWorkers,
  followOffers,
  type Identity,
  heartbeatBody,
  type Offer,
  register,
} from './workers.ts';

/** A simulated agent with two connections: one for calls, and one for its stream. */
export interface Rig {
  readonly identity: Identity;
  readonly connection: HttpConnection;
  /** Opens the worker's command stream. */
  openStream(): Promise<void>;
  isOpen(): boolean;
  /** Resets the stream. */
  cut(): void;
  close(): void;
}

interface RigOptions {
  readonly onOffer?: (offer: Offer, rig: Rig) => void;
  /** Called when the stream ends without `cut` or `close`. */
  readonly onLost?: (rig: Rig) => void;
}

export function createRig(
  server: Pick<BenchProgram, 'url'>,
  identity: Identity,
  { onOffer = () => {}, onLost = () => {} }: RigOptions = {},
): Rig {
  const connection = openConnection(server.url, identity.headers);
  let stream: EventStream | null = null;
  const endStream = (method: 'cut' | 'close'): void => {
    const endedStream = stream;
    // Clear `stream` first, so that `onLost` is not called for a stream that the test itself ends.
    stream = null;
    endedStream?.[method]();
  };
  const rig: Rig = {
    identity,
    connection,
    async openStream() {
      const newStream = await followOffers(server, identity, offer => onOffer(offer, rig));
      stream = newStream;
      void newStream.ended.then(() => {
        if (stream !== newStream) return;
        stream = null;
        onLost(rig);
      });
    },
    isOpen: () => stream !== null,
    cut: () => endStream('cut'),
    close() {
      endStream('close');
      connection.close();
    },
  };
  return rig;
}

/** Opens all streams, `concurrency` at a time. */
export async function openStreams(rigs: readonly Rig[], concurrency = 32): Promise<void> {
  const remaining = [...rigs];
  const openRemaining = async (): Promise<void> => {
    for (let rig = remaining.pop(); rig !== undefined; rig = remaining.pop()) await rig.openStream();
  };
  await Promise.all(Array.from({ length: concurrency }, openRemaining));
}

/** Resources of the built server while its workers only send heartbeats. */
interface AtRest {
  /** Resident memory in MiB before the first worker registers. */
  readonly initialMib: number;
  /** Resident memory in MiB at the end. */
  readonly mib: number;
  /** CPU usage during the measurement: the share of one processor, from 0 to 1. */
  readonly share: number;
  /** Interval in seconds between two heartbeats of a worker. */
  readonly intervalS: number;
  /** Number of heartbeats sent. */
  readonly sent: number;
  /** Number of heartbeats without a response. */
  readonly unanswered: number;
  /** Number of workers whose stream has ended. */
  readonly lost: number;
}

/** Starts the built server with idle workers, and measures it for `measureMs` after a pause of `settleMs`. */
export async function measureAtRest(workers: number, settleMs: number, measureMs: number): Promise<AtRest> {
  const server = await startServer(createBenchFolder(), [], { program: buildServer() });
  const initialMib = server.memoryMib();
  const rigs = (await createWorkers(server, workers)).map(identity => createRig(server, identity));
  const [first] = rigs;
  if (first === undefined) throw new Error('There is no worker.');
  const { heartbeat_interval_s: intervalS } = await register(first.connection, first.identity);
  await openStreams(rigs);
  const heartbeats = startHeartbeats(rigs, intervalS);
  await setTimeout(settleMs);
  const startedAt = performance.now();
  const cpuAtStart = server.cpuSeconds();
  await setTimeout(measureMs);
  const share = (server.cpuSeconds() - cpuAtStart) / ((performance.now() - startedAt) / 1_000);
  const mib = server.memoryMib();
  const heartbeatCounts = await heartbeats.stop();
  const lost = rigs.filter(rig => !rig.isOpen()).length;
  for (const rig of rigs) rig.close();
  await server.close();
  return { initialMib, mib, share, intervalS, lost, ...heartbeatCounts };
}

interface HeartbeatLoad {
  /** Stops the heartbeats, and waits up to five seconds for missing responses. */
  stop(): Promise<{ readonly sent: number; readonly unanswered: number }>;
}

const lastResponsesMs = 5_000;

/**
 * Sends the heartbeats of idle workers, spread evenly over the interval. Sends each heartbeat on time, even when earlier
 * responses are late.
 */
function startHeartbeats(rigs: readonly Rig[], intervalS: number): HeartbeatLoad {
  const bodies = rigs.map(({ identity }) => heartbeatBody(identity));
  const startedAt = performance.now();
  let sent = 0;
  let answered = 0;
  const timer = setInterval(() => {
    const due = ((performance.now() - startedAt) / 1_000 / intervalS) * rigs.length;
    for (; sent < due; sent += 1) {
      const index = sent % rigs.length;
      const call = rigs[index]?.connection.call('/api/workers/heartbeat', bodies[index] ?? '');
      call
        ?.then(({ status }) => {
          if (status === 200) answered += 1;
        })
        .catch(() => {});
    }
  }, 10);
  return {
    async stop() {
      clearInterval(timer);
      const deadline = performance.now() + lastResponsesMs;
      while (answered < sent && performance.now() < deadline) await setTimeout(10);
      return { sent, unanswered: sent - answered };
    },
  };
}
