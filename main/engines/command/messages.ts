import { z } from 'zod';
import type { LaunchAnswer, LaunchOrder, Sighting } from '../../orchestrator/ports/engines.ts';
import { LaunchId } from '../../../protocol/ids.ts';
import { EngineCheck, WaitingReason } from '../../../protocol/pool.ts';
import { cleanLine } from '../../../protocol/text.ts';

/** Version of the messages (docs/pools-command.md). A program should fail if it does not know this version. */
export const messageVersion = 1;

/** Returns the prefix that the names of a fleet's launches share. */
export const namePrefix = (fleet: string): string => `trainyard-${fleet}-`;

/** Returns the message for stdin of `launch`. */
export const toOrderMessage = (fleet: string, order: LaunchOrder, start: string) => ({
  version: messageVersion,
  fleet,
  name: namePrefix(fleet) + order.launchId,
  nodes: order.nodes,
  gpus: order.gpus,
  wall_time_s: order.wallTimeS,
  notice_s: order.noticeS,
  worker_name: order.workerName,
  start,
  join_token: order.joinToken,
});

const line = (max: number) => z.string().transform(text => cleanLine(text).trim().slice(0, max));
const time = z.iso
  .datetime({ offset: true })
  .nullish()
  .transform(at => (at ? Date.parse(at) : null));

/** Output of `check`. */
export const CheckAnswer = z
  .object({
    ok: z.boolean(),
    version: line(200).nullable().default(null),
    detail: line(2_000).default(''),
    queues: EngineCheck.shape.queues.default([]),
  })
  .transform((answer): EngineCheck => answer);

/** Output of `launch`. */
export const OrderAnswer = z
  .discriminatedUnion('result', [
    z.object({ result: z.literal('accepted'), engine_id: line(200).pipe(z.string().min(1)) }),
    z.object({
      result: z.literal('rejected'),
      scope: z.enum(['permanent', 'temporary']),
      code: line(100).default('rejected'),
      message: line(300),
    }),
  ])
  .transform((answer): LaunchAnswer => {
    if (answer.result === 'accepted') return { kind: 'accepted', engineId: answer.engine_id };
    const { scope, code, message } = answer;
    return { kind: 'rejected', scope, code, message };
  });

const Entry = z
  .object({
    name: z.string(),
    engine_id: line(200),
    state: z.enum(['waiting', 'running', 'ended']),
    reason: z.object({ kind: WaitingReason.shape.kind, text: line(300) }).nullish(),
    expected_start: time,
    started_at: time,
    ends_at: time,
    nodes: z.array(line(200)).max(1_000).default([]),
    exit: z
      .enum(['completed', 'failed', 'cancelled', 'preempted', 'timeout', 'node_failed'])
      .nullable()
      .default(null),
  })
  .transform(entry => ({
    name: entry.name,
    sighting: {
      engineId: entry.engine_id,
      state: entry.state,
      reason: entry.state === 'waiting' ? (entry.reason ?? null) : null,
      expectedStart: entry.expected_start,
      startedAt: entry.started_at,
      endsAt: entry.ends_at,
      nodes: entry.nodes,
      exit: entry.state === 'ended' ? entry.exit : null,
    } satisfies Sighting,
  }));

/** Output of `list`. */
export const ListAnswer = z.object({ launches: z.array(Entry) });
type Entries = z.output<typeof ListAnswer>['launches'];

/** Returns the machines of this fleet by launch. Among machines with the same name, prefers one that has not ended. */
export function toSightings(fleet: string, entries: Entries): ReadonlyMap<LaunchId, Sighting> {
  const sightings = new Map<LaunchId, Sighting>();
  for (const { name, sighting } of entries) {
    const prefix = namePrefix(fleet);
    const launch = LaunchId.safeParse(name.startsWith(prefix) ? name.slice(prefix.length) : null);
    if (!launch.success) continue;
    const earlier = sightings.get(launch.data);
    if (earlier === undefined || earlier.state === 'ended') sightings.set(launch.data, sighting);
  }
  return sightings;
}
