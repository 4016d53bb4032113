import { createHash, randomBytes } from 'node:crypto';
import { AttemptId, JobId, TokenId, WorkerId } from '../../protocol/ids.ts';
import { joinTokenPrefix } from '../../protocol/worker-api.ts';
import type { Clock, Ids } from '../orchestrator/ports.ts';

/** Longer delays overflow in Node and would fire at once. */
const longestDelayMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  wall: () => Date.now(),
  mono: () => performance.now(),
  iso: at => new Date(at).toISOString(),
  after(ms, run) {
    const timer = setTimeout(run, Math.min(Math.max(0, Math.ceil(ms)), longestDelayMs));
    return () => clearTimeout(timer);
  },
};

/** No look-alikes, no case: ids are read aloud and typed. 5 bits a character. */
const alphabet = 'abcdefghjkmnpqrstuvwxyz023456789';

const randomName = (prefix: string, length: number): string =>
  prefix + Array.from(randomBytes(length), byte => alphabet[byte % alphabet.length]).join('');

function newToken(prefix: string) {
  const token = prefix + randomBytes(32).toString('base64url');
  return { token, hash: createHash('sha256').update(token).digest('hex') };
}

/** Worker tokens begin with `wt_`, so that none can be taken for an option of a command line. */
export const systemIds: Ids = {
  worker: () => WorkerId.parse(randomName('w_', 10)),
  job: () => JobId.parse(randomName('j_', 12)),
  attempt: () => AttemptId.parse(randomName('a_', 20)),
  apiTokenId: () => TokenId.parse(randomName('t_', 10)),
  workerToken: () => newToken('wt_'),
  sessionToken: () => newToken('ts_'),
  apiToken: () => newToken('tk_'),
  joinToken: () => newToken(joinTokenPrefix),
};
