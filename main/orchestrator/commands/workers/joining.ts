import type { WorkerId } from '../../../../protocol/ids.ts';
import { accept, type Outcome, refuse } from '../../../../protocol/problem.ts';
import type { JoinReply } from '../../../../protocol/worker-api.ts';
import { type Core, recordWorkerEvent } from '../../core.ts';
import { judgeJoin } from '../../rules/worker-rules.ts';
import type { Actor, Worker } from '../../model.ts';
import type { Tx } from '../../ports/index.ts';

export interface IssuedJoinToken {
  readonly workerId: WorkerId;
  readonly name: string;
  readonly persistent: boolean;
  /** The join token in clear text. It is returned once and never stored. */
  readonly token: string;
  /** RFC 3339. */
  readonly expiresAt: string;
}

const remedy =
  'make a new join command, with "Rotate the token" at the worker in the panel, or with "trainyard workers join NAME"';

export const unknownJoinToken = refuse(
  'join_token_invalid',
  'This join token is not valid: it was copied incompletely, a newer token of its worker has replaced it, or that worker ' +
    `was deleted; ${remedy}`,
);

const refusals = {
  expired: refuse('join_token_invalid', `This join token has expired; ${remedy}`),
  used: refuse(
    'join_token_used',
    `This join token was used already, and works once; ${remedy}. If none of you has used it, somebody else has it`,
  ),
} as const;

const badHash = refuse(
  'invalid_request',
  'token_sha256: expected the SHA-256 of a new token that the agent has just created',
);

/** Calls that turn a machine into a worker. The machine creates its worker token itself, so the server never sends it. */
export function createJoinCalls(core: Core) {
  return {
    /** Whether this join token exists, used or not. */
    knowsJoinToken: (hash: string): boolean => core.store.joinToken(hash) !== null,

    /** Creates a join token that is valid for `validMs`, and invalidates the worker's previous join token. */
    async createJoinToken(id: WorkerId, validMs: number, by: Actor): Promise<Outcome<IssuedJoinToken>> {
      const { token, hash } = core.ids.joinToken();
      return core.store.write(tx => {
        const worker = tx.worker(id);
        if (worker === null) return refuse('worker_not_found', `There is no worker ${id}`);
        const at = core.clock.wall() + validMs;
        const expiresAt = core.clock.iso(at);
        tx.setJoinToken(hash, { workerId: id, expiresAt: at, usedFor: null });
        recordWorkerEvent(core, tx, 'worker.join_token_created', id, by, { expires_at: expiresAt });
        return accept({
          workerId: id,
          name: worker.name,
          persistent: worker.type === 'persistent',
          token,
          expiresAt,
        });
      });
    },

    /**
     * Makes the token with `tokenHash` the worker's token. When the promise resolves, the old worker token is invalid and
     * its stream is closed. Both hashes are SHA-256 in lower-case hex.
     */
    join: (joinHash: string, tokenHash: string, address: string | null): Promise<Outcome<JoinReply>> =>
      core.store.write(tx => join(core, tx, { joinHash, tokenHash, address })),
  };
}

interface Joining {
  readonly joinHash: string;
  readonly tokenHash: string;
  readonly address: string | null;
}

function join(core: Core, tx: Tx, { joinHash, tokenHash, address }: Joining): Outcome<JoinReply> {
  const joinToken = tx.joinToken(joinHash);
  const worker = joinToken === null ? null : tx.worker(joinToken.workerId);
  if (joinToken === null || worker === null) return unknownJoinToken;
  const verdict = judgeJoin(joinToken, tokenHash, core.clock.wall());
  if (verdict === 'repeated') return accept(replyFor(worker));
  if (verdict !== 'join') return refusals[verdict];
  // A join token must not become a worker token, and no token may belong to two workers.
  if (tokenHash === joinHash || tx.workerByTokenHash(tokenHash) !== null) return badHash;
  tx.setTokenHash(worker.id, tokenHash, false);
  tx.startUploadGeneration(worker.id, false);
  tx.setJoinToken(joinHash, { ...joinToken, usedFor: tokenHash });
  recordWorkerEvent(core, tx, 'worker.joined', worker.id, { type: 'worker', id: worker.id, address });
  // The previous machine has no valid token any more, so the registration of the new machine is no duplicate.
  tx.afterCommit(() => {
    core.connections.hangUp(worker.id);
    core.connections.unmeet(worker.id);
  });
  return accept(replyFor(worker));
}

const replyFor = ({ id, name, type }: Worker): JoinReply => ({ worker_id: id, name, worker_type: type });
