import type { VirtualClock } from '../../support/virtual-clock.ts';
import { type Connection, openConnection, type StreamListeners, type LinkProperties } from './connection.ts';
import type { SimProcess } from './process.ts';
import type { Random } from './random.ts';
import type { Server, WireAnswer, WireRequest } from './wire.ts';

type Direction = 'up' | 'down';

/** A temporary problem of a link. Several conditions can apply at the same time. */
export interface Condition {
  readonly cutUp?: boolean;
  readonly cutDown?: boolean;
  /** Maximum additional delay in ms; actual delays are uniformly distributed. */
  readonly delayMs?: number;
  /** Probability that a request (`lossUp`) or an answer (`lossDown`) is lost. */
  readonly lossUp?: number;
  readonly lossDown?: number;
  /** Probability that a request arrives again within 2 s (`duplicate`) or up to five minutes later (`replay`). */
  readonly duplicate?: number;
  readonly replay?: number;
}

/** The path between one client and the orchestrator. */
export interface Link extends LinkProperties {
  /** Applies a condition. The returned function ends the condition. */
  impose(condition: Condition): () => void;
  /** True while the link loses no data and adds no long delay. */
  readonly isCalm: boolean;
  /** Virtual time of the simulation at which the link was last disturbed; the current time while it is disturbed. */
  readonly disturbedAt: number;
  /** The newest stream, open or closed. */
  readonly stream: Connection | null;
  call(process: SimProcess, request: WireRequest, timeoutMs: number): Promise<WireAnswer>;
  connect(process: SimProcess, request: WireRequest, listeners: StreamListeners): Connection;
  /** Breaks the open streams. `reset`: both ends notice. `half-open`: neither end notices. */
  breakStreams(how: 'reset' | 'half-open'): void;
  /** Resets all streams that are broken or stalled, so that both ends notice. */
  wakeDeadStreams(): void;
}

export interface LinkDeps {
  readonly world: VirtualClock;
  readonly random: Random;
  readonly name: string;
  readonly server: () => Server | null;
}

/** A link with a longer additional delay, in ms, is not calm. */
const longDelayMs = 1_000;

export function createLink(deps: LinkDeps): Link {
  const { world, random, name, server } = deps;
  const conditions = new Set<Condition>();
  const connections = new Set<Connection>();
  let disturbedAt = Number.NEGATIVE_INFINITY;
  let stream: Connection | null = null;

  const sum = (of: (condition: Condition) => number | undefined): number =>
    [...conditions].reduce((total, condition) => total + (of(condition) ?? 0), 0);
  const isCut = (direction: Direction): boolean =>
    [...conditions].some(({ cutUp, cutDown }) => (direction === 'up' ? cutUp : cutDown) === true);
  const isDisturbed = ({ cutUp, cutDown, delayMs = 0, lossUp = 0, lossDown = 0 }: Condition): boolean =>
    cutUp === true || cutDown === true || delayMs > longDelayMs || lossUp + lossDown > 0;
  const isCalm = (): boolean => ![...conditions].some(isDisturbed);
  const transitMs = (): number =>
    random.int(1, 12) + Math.floor(random.next() * sum(({ delayMs }) => delayMs));
  /** Returns the travel time in ms; null when the message is lost. */
  const travel = (direction: Direction): number | null => {
    const ms = transitMs();
    const lost = random.chance(sum(({ lossUp, lossDown }) => (direction === 'up' ? lossUp : lossDown)));
    return lost || isCut(direction) ? null : ms;
  };

  const link: Link = {
    name,
    isCut,
    transitMs,
    get isCalm() {
      return isCalm();
    },
    get disturbedAt() {
      return isCalm() ? disturbedAt : world.mono();
    },
    get stream() {
      return stream;
    },
    impose(condition) {
      conditions.add(condition);
      return () => {
        if (!conditions.delete(condition)) return;
        if (isDisturbed(condition)) disturbedAt = world.mono();
        for (const connection of connections) connection.flush();
      };
    },
    call: (process, request, timeoutMs) =>
      new Promise(resolve => {
        const settle = (answer: WireAnswer): void =>
          process.deliver(() => {
            cancelTimeout();
            resolve(answer);
          });
        const cancelTimeout = process.clock.after(timeoutMs, () =>
          settle({ kind: 'failed', code: 'TimeoutError' }),
        );
        const answerWith = (answer: WireAnswer): void => {
          const downMs = travel('down');
          if (downMs !== null) world.after(downMs, () => settle(answer));
        };
        const send = (moreMs: number, reply: (answer: WireAnswer) => void): void => {
          const upMs = travel('up');
          if (upMs !== null) world.after(moreMs + upMs, () => arrive(server(), request, name, reply));
        };
        send(0, answerWith);
        const ignore = (): void => {};
        if (canBeDoubled(request) && random.chance(sum(({ duplicate }) => duplicate)))
          send(random.int(0, 2_000), ignore);
        if (canBeReplayed(request) && random.chance(sum(({ replay }) => replay)))
          send(random.int(10_000, 300_000), ignore);
      }),
    connect(process, request, listeners) {
      const connection = openConnection({ world, random, link, server, process, request, listeners });
      connections.add(connection);
      stream = connection;
      connection.onClosed(() => connections.delete(connection));
      return connection;
    },
    breakStreams(how) {
      for (const connection of connections) connection.break(how);
    },
    wakeDeadStreams() {
      for (const connection of connections) if (!connection.isHealthy) connection.break('reset');
    },
  };
  return link;
}

/**
 * Returns true for calls that the simulation can deliver twice. It never duplicates calls of users: after a duplicated rotation,
 * the caller could have only the revoked token, and no rule forbids this. It never duplicates registrations of a v1 agent. These
 * registrations have no number, so a late duplicate could withdraw a job that was dispatched after the first registration.
 */
const canBeDoubled = (request: WireRequest): boolean =>
  request.kind === 'worker' && (!request.path.endsWith('/register') || isNumbered(request.body));

const isNumbered = (body: unknown): boolean =>
  typeof body === 'object' && body !== null && 'registration_no' in body;

/**
 * Returns true for calls that the simulation can deliver again much later: only reports, because the orchestrator recognizes
 * old reports by their attempt. It cannot recognize old heartbeats, goodbyes, or registrations of an earlier start.
 */
const canBeReplayed = (request: WireRequest): boolean =>
  request.kind === 'worker' && request.path.endsWith('/status');

function arrive(
  server: Server | null,
  request: WireRequest,
  link: string,
  reply: (answer: WireAnswer) => void,
): void {
  if (server === null) {
    reply({ kind: 'failed', code: 'ECONNREFUSED' });
    return;
  }
  const release = server.onReset(() => reply({ kind: 'failed', code: 'ECONNRESET' }));
  server.process.deliver(() => {
    // Copy the request, so that observers see a duplicate as a separate call.
    void server.serve({ ...request }, link).then(answer => {
      release();
      reply(answer);
    });
  });
}
