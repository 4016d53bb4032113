import { z } from 'zod';
import type { ServerProcess } from '../faults/server-process.ts';
import { sseFrames } from '../support/stream-record.ts';
import type { FollowLine, Journal } from './journal.ts';
import { pauseFor } from './pause.ts';

const LogEvent = z.discriminatedUnion('type', [
  z.looseObject({
    type: z.literal('lines'),
    lines: z.array(z.looseObject({ line: z.number(), text: z.string() })),
  }),
  z.looseObject({ type: z.literal('end'), next_attempt: z.number().nullable() }),
]);

const reconnectMs = 300;

/**
 * Follows the logs of all attempts of a job, one after the other. Reconnects after each interruption, and records each received
 * line. Resolves after the last attempt, or when `ended` aborts.
 */
export async function followLog(
  id: string,
  server: ServerProcess,
  journal: Journal<FollowLine>,
  ended: AbortSignal,
): Promise<void> {
  let attempt = 1;
  /** The number of the next line; 0 at the beginning of the log. */
  let nextLine = 0;
  /** Reads until the connection or the log of the attempt ends. Returns true when the log of the last attempt ended. */
  const readStream = async (): Promise<boolean> => {
    const url = new URL(`/api/queue/${id}/logs/stream?attempt=${attempt}&line=0`, server.url);
    const headers = {
      authorization: `Bearer ${server.adminToken}`,
      ...(nextLine > 0 && { 'last-event-id': String(nextLine) }),
    };
    for await (const frame of sseFrames(url, headers, ended)) {
      const event = LogEvent.parse(JSON.parse(frame.data));
      if (event.type === 'lines') {
        for (const { line, text } of event.lines) journal.write({ kind: 'line', id, attempt, line, text });
        if (frame.id !== null) nextLine = Number(frame.id);
        continue;
      }
      journal.write({ kind: 'end', id, attempt });
      if (event.next_attempt === null) return true;
      attempt = event.next_attempt;
      nextLine = 0;
      return false;
    }
    return false;
  };
  while (!ended.aborted) {
    if (await readStream().catch(() => false)) return;
    await pauseFor(reconnectMs, ended);
  }
}
