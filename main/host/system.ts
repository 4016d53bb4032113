import { createHash, randomBytes, randomInt } from 'node:crypto';
import { AttemptId, JobId, SessionId, TokenId, WorkerId } from '../../protocol/ids.ts';
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

/** No look-alikes, no case: ids are read aloud and typed. 5 bits a character, in the order in which they are sorted. */
const alphabet = '023456789abcdefghjkmnpqrstuvwxyz';

/** To ask the system for a few bytes takes as long as to ask for many. */
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

const beginningChars = 4;
const placeChars = 3;
const places = alphabet.length ** placeChars;

/**
 * Names of what is made by the thousand. Those of one second begin alike, and go on in the order in which they are made: so the database
 * has in one place what is new, and need not write a page for each. Those of another second begin with something else, so that
 * people can tell them apart by their first characters.
 */
function createBurstNames(prefix: string, length: number): () => string {
  let second = Number.NaN;
  let beginning = '';
  let place = 0;
  return () => {
    const now = Math.floor(Date.now() / 1_000);
    if (now !== second) {
      second = now;
      beginning = randomName(prefix, beginningChars);
      place = randomInt(places);
    }
    place = (place + 1) % places;
    return randomName(beginning + nameOfPlace(place), length - beginningChars - placeChars);
  };
}

const nameOfPlace = (place: number): string =>
  [places / alphabet.length, alphabet.length, 1]
    .map(worth => alphabet[Math.floor(place / worth) % alphabet.length])
    .join('');

const jobName = createBurstNames('j_', 12);
const attemptName = createBurstNames('a_', 20);

function newToken(prefix: string) {
  const token = prefix + randomBytes(32).toString('base64url');
  return { token, hash: createHash('sha256').update(token).digest('hex') };
}

/** Worker tokens begin with `wt_`, so that none can be taken for an option of a command line. */
export const systemIds: Ids = {
  worker: () => WorkerId.parse(randomName('w_', 10)),
  job: () => JobId.parse(jobName()),
  attempt: () => AttemptId.parse(attemptName()),
  apiTokenId: () => TokenId.parse(randomName('t_', 10)),
  session: () => SessionId.parse(randomName('se_', 10)),
  workerToken: () => newToken('wt_'),
  sessionToken: () => newToken('ts_'),
  apiToken: () => newToken('tk_'),
  joinToken: () => newToken(joinTokenPrefix),
};
