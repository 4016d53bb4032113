import type { JobId, WorkerId } from '../../../protocol/ids.ts';
import { hashOf } from '../../support/fleet.ts';
import type { Check, Scene } from '../world/scene.ts';
import type { WireRequest } from '../world/wire.ts';
import { isLive } from './ledger.ts';

/**
 * Checks invariant I1 (docs/internals/faults.md) at each start of the orchestrator and at the end: no acknowledged job is lost.
 */
export const watchSubmits: Check = scene => {
  const promised = new Set<JobId>();
  const removed = new Set<JobId>();
  const checkPromised = (): void => {
    for (const id of promised) {
      if (!removed.has(id) && scene.disk.store.job(id) === null)
        scene.violate('I1 acknowledged jobs exist', `${id} does not exist`);
    }
  };
  return {
    onCommit(command) {
      for (const id of command.removed) removed.add(id);
    },
    onAnswer(request, answer) {
      if (request.kind !== 'person' || answer.kind === 'failed' || answer.status !== 200) return;
      const { body } = answer;
      if (typeof body === 'object' && body !== null && 'jobId' in body) promised.add(body.jobId as JobId);
    },
    onLife: checkPromised,
    atEnd: checkPromised,
  };
};

/** Checks invariant I8: a draining worker gets no offers, and a drain lasts until an undrain or the deletion of the worker. */
export const watchDrains: Check = scene => {
  const draining = new Set<WorkerId>();
  return {
    onCommit({ audits, changes }) {
      // A command that ends a drain may offer a job. So apply its undrains before checking its offers, and its drains afterwards.
      for (const { type, target } of audits) {
        if (type === 'worker.undrained' || type === 'worker.deleted') draining.delete(target.id as WorkerId);
      }
      for (const { next } of changes) {
        if (next.status === 'dispatched' && draining.has(next.attempt.workerId))
          scene.violate(
            'I8 a draining worker gets no offer',
            `${next.id} was offered to ${next.attempt.workerId}`,
          );
      }
      for (const { type, target } of audits) {
        if (type === 'worker.draining') draining.add(target.id as WorkerId);
      }
    },
    atEnd() {
      for (const worker of draining) {
        if (scene.disk.store.worker(worker)?.drain === null)
          scene.violate(
            'I8 a drain lasts until it is undone',
            `${worker} stopped draining without an undrain`,
          );
      }
    },
  };
};

interface Tokens {
  readonly newest: string | null;
  /** Hash of the previous token while it stays valid until the worker's current job has ended; null otherwise. */
  readonly old: string | null;
}

/**
 * Checks invariant I9: once a rotation is on disk, no older token works, except one that the rotation keeps until the job ends.
 */
export const watchTokens: Check = scene => {
  const valid = new Map<WorkerId, Tokens>();
  /** Requests that arrived with an invalid token. */
  const late = new Set<WireRequest>();
  const isDead = (worker: WorkerId | null, token: string): boolean => {
    const tokens = worker === null ? undefined : valid.get(worker);
    return tokens !== undefined && ![tokens.newest, tokens.old].includes(hashOf(token));
  };
  return {
    onCommit({ tokens, changes }) {
      for (const { was, next } of changes) {
        if (!isLive(was) || isLive(next)) continue;
        const { workerId } = was.attempt;
        const { newest = null } = valid.get(workerId) ?? {};
        valid.set(workerId, { newest, old: null });
      }
      for (const { worker, hash, keepsOld } of tokens) {
        const { newest = null, old = null } = valid.get(worker) ?? {};
        valid.set(worker, { newest: hash, old: keepsOld ? (old ?? newest) : null });
      }
    },
    onArrive(request) {
      if (request.kind === 'worker' && isDead(scene.workerOf(request.token), request.token))
        late.add(request);
    },
    onAnswer(request, answer) {
      if (late.delete(request) && answer.kind === 'answer' && answer.status < 400)
        scene.violate(
          'I9 a rotated token is rejected',
          `${JSON.stringify(request)} was answered ${answer.status}`,
        );
    },
    onFrame(worker, token, { type }) {
      if (type !== 'ping' && isDead(worker, token))
        scene.violate(
          'I9 streams of a rotated token are closed',
          `${type} was sent to ${worker} on a stream of the old token`,
        );
    },
  };
};

/** Returns the worker and its new token from the answer to a creation or a rotation; null for other answers. */
export function issuedIn(body: unknown): { readonly worker: WorkerId; readonly token: string } | null {
  if (typeof body !== 'object' || body === null || !('token' in body) || !('workerId' in body)) return null;
  return { worker: body.workerId as WorkerId, token: String(body.token) };
}

/**
 * Checks that the orchestrator sends a command only after the change is on disk, and only about the worker's current job. Also
 * checks that the orchestrator shuts down no worker during a job.
 */
export const watchFrames: Check = scene => ({
  onFrame(worker, _token, command) {
    if (scene.disk.isInCommand && command.type !== 'ping')
      scene.violate(
        'no command is sent before the commit',
        `${command.type} to ${worker} within a transaction`,
      );
    const held = scene.ledger.liveOf(worker)?.id ?? scene.disk.store.heldNodeOf(worker)?.jobId;
    if (command.type === 'shutdown' && held !== undefined)
      scene.violate('no worker is shut down during its job', `${worker} holds ${held}`);
    if (command.type !== 'job_submit' && command.type !== 'job_cancel') return;
    const wanted = command.type === 'job_submit' ? 'dispatched' : 'cancelling';
    const problem = objection(scene, worker, command.job_id, command.attempt_id, wanted);
    if (problem !== null)
      scene.violate(
        'a command concerns the current job of its worker',
        `${command.type} to ${worker}: ${problem}`,
      );
  },
});

function objection(
  { ledger, disk }: Scene,
  worker: WorkerId,
  id: JobId,
  attemptId: string,
  wanted: 'dispatched' | 'cancelling',
): string | null {
  const job = ledger.job(id);
  if (job === null) return `${id} is not on disk`;
  const node = disk.store.heldNodeOf(worker);
  // In an attempt on several workers, each worker except the first has a node. It gets offers until its node has ended, then only
  // cancels.
  if (node?.attemptId === attemptId)
    return (node.state === 'ended') === (wanted === 'cancelling') ? null : `its node is ${node.state}`;
  if (job.attempt?.id !== attemptId || job.attempt.workerId !== worker)
    return `${id} now belongs to ${job.attempt?.workerId ?? 'no worker'}`;
  return job.status === wanted ? null : `${id} is ${job.status}`;
}
