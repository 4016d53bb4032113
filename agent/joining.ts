import { createHash, randomBytes } from 'node:crypto';
import { joinTokenPrefix } from '../protocol/worker-api.ts';
import type { Join, Joined } from './join.ts';
import type { OwnToken, OwnTokenBook } from './own-tokens.ts';
import { reasonOf } from './start-failure.ts';
import type { GivenToken, Ready, TokenHolder } from './token-holder.ts';

export interface JoiningParts {
  readonly given: GivenToken;
  readonly own: OwnTokenBook;
  readonly join: Join;
  readonly say: (message: string) => void;
  /** Fires when nothing is waited for any more. */
  readonly over: AbortSignal;
}

/**
 * Worker tokens are used as they were given; a join token makes one of this machine's own, which never leaves it. It works
 * once, and an environment that has it comes back with every restart: what was made with it before counts.
 */
export function createJoining({ given, own, join, say, over }: JoiningParts): TokenHolder {
  let token = '';
  /** Still to be made a worker token. */
  let toJoin: string | null = null;
  let underWay: { readonly joinToken: string; readonly answer: Promise<Ready> } | null = null;
  const take = (value: string): void => {
    const isToJoin = value.startsWith(joinTokenPrefix);
    const joined = isToJoin ? joinedWith(own.read(), sha256(value)) : null;
    toJoin = isToJoin && joined === null ? value : null;
    if (toJoin === null) token = joined?.token ?? value;
  };
  /** Unless another one was given meanwhile: what was given last counts. */
  const use = (made: OwnToken, joinToken: string): Ready => {
    if (toJoin === joinToken) take(made.token);
    return { kind: 'ready' };
  };

  const obtain = async (joinToken: string): Promise<Ready> => {
    const joinHash = sha256(joinToken);
    const kept = own.read();
    if (!kept.ok) return { kind: 'refused', message: kept.message };
    const { joined, pending } = kept.value;
    // It was begun with, and whether it was done is not known: the same again is answered the same.
    const isBegun = pending?.joinHash === joinHash;
    const made = isBegun ? pending : { joinHash, token: newWorkerToken() };
    try {
      // Before the call: whatever happens to this process, the token that the orchestrator may know by then is here.
      if (!isBegun) own.keep({ joined, pending: made });
    } catch (cause) {
      return { kind: 'refused', message: `The worker's token can't be kept: ${reasonOf(cause)}` };
    }
    const answer = await join(joinToken, sha256(made.token), over);
    if (answer.kind !== 'joined') return answer;
    conclude(answer, made);
    return use(made, joinToken);
  };
  const conclude = ({ name, workerId }: Extract<Joined, { kind: 'joined' }>, made: OwnToken): void => {
    try {
      own.keep({ joined: made, pending: null });
    } catch {
      // It is on disk as pending, and the next start asks once more.
    }
    say(`Joined as ${name} (${workerId}), with a token that is kept on this machine alone`);
  };
  const begin = (joinToken: string) => ({
    joinToken,
    answer: obtain(joinToken).finally(() => {
      underWay = null;
    }),
  });

  take(given.current());
  return {
    current: () => token,
    isOwn() {
      const kept = own.read();
      return kept.ok && [kept.value.joined, kept.value.pending].some(made => made?.token === token);
    },
    file: given.file,
    reload() {
      if (!given.reload()) return false;
      take(given.current());
      return true;
    },
    async ready(signal) {
      while (toJoin !== null) {
        underWay ??= begin(toJoin);
        const { joinToken } = underWay;
        const answer = await Promise.race([underWay.answer, aborted(signal)]);
        if (answer.kind === 'aborted') return answer;
        // Another one was given meanwhile, or this one has been told of.
        if (answer.kind === 'ready' || toJoin !== joinToken) continue;
        // The token that it was to replace may still be good.
        if (token !== '') toJoin = null;
        return answer;
      }
      return { kind: 'ready' };
    },
  };
}

const joinedWith = (kept: ReturnType<OwnTokenBook['read']>, joinHash: string): OwnToken | null =>
  kept.ok && kept.value.joined?.joinHash === joinHash ? kept.value.joined : null;

const newWorkerToken = (): string => `wt_${randomBytes(32).toString('base64url')}`;

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

const aborted = (signal: AbortSignal): Promise<Ready> =>
  new Promise(resolve => {
    const leave = (): void => resolve({ kind: 'aborted' });
    if (signal.aborted) leave();
    else signal.addEventListener('abort', leave, { once: true });
  });
