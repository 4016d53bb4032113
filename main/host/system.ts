import { createHash, randomBytes } from 'node:crypto';
import {
  AttemptId,
  ChannelId,
  DeliveryId,
  JobId,
  LaunchId,
  PoolId,
  RuleId,
  SessionId,
  TokenId,
  WorkerId,
} from '../../protocol/ids.ts';
import { UpdateId } from '../../protocol/worker-update.ts';
import { joinTokenPrefix } from '../../protocol/worker-api.ts';
import type { Clock, Ids } from '../orchestrator/ports/index.ts';

/** Node reduces longer delays to 1 ms. */
const maxDelayMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  wall: () => Date.now(),
  mono: () => performance.now(),
  iso: at => new Date(at).toISOString(),
  after(ms, run) {
    const timer = setTimeout(run, Math.min(Math.max(0, Math.ceil(ms)), maxDelayMs));
    return () => clearTimeout(timer);
  },
};

/**
 * Digits and lower-case letters without `1`, `i`, `l` and `o`, because people read ids aloud and type them. There are 32
 * characters, so each encodes 5 bits. The characters are in sort order.
 */
const alphabet = '023456789abcdefghjkmnpqrstuvwxyz';

/** Random bytes are read in blocks, because reading a few bytes from the system takes as long as reading many. */
const poolBytes = 4_096;

function createRandomBytes(): (length: number) => Uint8Array {
  let pool = Buffer.alloc(0);
  let at = 0;
  return length => {
    if (at + length > pool.length) {
      pool = randomBytes(Math.max(poolBytes, length));
      at = 0;
    }
    at += length;
    return pool.subarray(at - length, at);
  };
}

const bytesForNames = createRandomBytes();

function randomName(prefix: string, length: number): string {
  let name = prefix;
  for (const byte of bytesForNames(length)) name += alphabet[byte % alphabet.length];
  return name;
}

function newToken(prefix: string) {
  const token = prefix + randomBytes(32).toString('base64url');
  return { token, hash: createHash('sha256').update(token).digest('hex') };
}

/** The prefix `wt_` ensures that a worker token is never parsed as a command-line option. */
export const systemIds: Ids = {
  worker: () => WorkerId.parse(randomName('w_', 10)),
  job: () => JobId.parse(randomName('j_', 12)),
  attempt: () => AttemptId.parse(randomName('a_', 20)),
  pool: () => PoolId.parse(randomName('p_', 10)),
  // Launch ids are in hex, because engines allow fewer characters in names.
  launch: () => LaunchId.parse(randomBytes(8).toString('hex')),
  update: () => UpdateId.parse(randomName('u_', 10)),
  channel: () => ChannelId.parse(randomName('c_', 10)),
  rule: () => RuleId.parse(randomName('r_', 10)),
  delivery: () => DeliveryId.parse(randomName('d_', 20)),
  apiTokenId: () => TokenId.parse(randomName('t_', 10)),
  session: () => SessionId.parse(randomName('se_', 10)),
  workerToken: () => newToken('wt_'),
  sessionToken: () => newToken('ts_'),
  apiToken: () => newToken('tk_'),
  joinToken: () => newToken(joinTokenPrefix),
};
