import { type Outcome, refuse } from '../../../protocol/problem.ts';
import type { Uploader } from '../../orchestrator/index.ts';
import { createRunningHashes } from './running-hashes.ts';
import { type Delivered, type Delivery, takePart, takeWhole, type UploadDeps } from './take-upload.ts';
import { createUploadRoom, noRoom, OutOfRoom, refuseFor } from './upload-room.ts';

export interface UploadHandler {
  receive(delivery: Delivery): Promise<Outcome<Delivered>>;
  /** Returns the progress of a resumable upload; null when there is none. */
  progressOf(
    uploader: Uploader,
    key: string,
  ): Promise<{ readonly offset: number; readonly total: number } | null>;
}

/** Maximum number of concurrent uploads. */
const maxConcurrent = { perAttempt: 16, total: 256 };

interface ActiveUpload {
  readonly attemptId: string;
  cut(): void;
  readonly done: Promise<unknown>;
}

/**
 * Receives uploads of trainers. The row of a file is written before its first byte, so that a crash leaves no file without a row.
 * The file becomes an artifact in the transaction that finishes the upload, so several requests with the same file create one
 * artifact.
 */
export function createUploadHandler(deps: UploadDeps): UploadHandler {
  const { orchestrator, files } = deps;
  const activeUploads = new Set<ActiveUpload>();
  /** Resumable uploads in progress, by attempt and key. Two requests for the same upload would overwrite each other. */
  const resumed = new Map<string, ActiveUpload>();

  const isCrowded = ({ attemptId }: Uploader): boolean =>
    activeUploads.size >= maxConcurrent.total ||
    [...activeUploads].filter(each => each.attemptId === attemptId).length >= maxConcurrent.perAttempt;

  const room = createUploadRoom(deps);
  const hashes = createRunningHashes();
  const run = async (delivery: Delivery): Promise<Outcome<Delivered>> => {
    const claim = await room.open(delivery.plan.length);
    if (claim === null) return noRoom;
    const scope = { ...deps, room, claim, hashes };
    try {
      return await (delivery.plan.part === null
        ? takeWhole(scope, delivery)
        : takePart(scope, delivery, delivery.plan.part));
    } finally {
      room.close(claim);
    }
  };

  return {
    async receive(delivery) {
      const { uploader, key, plan, request } = delivery;
      if (isCrowded(uploader))
        return refuse('too_many_uploads', 'Too many concurrent uploads: send fewer at a time');
      const name = `${uploader.attemptId} ${key}`;
      if (plan.part !== null) {
        // A client that resumes has lost its old connection, even if the server has not noticed that.
        for (let earlier = resumed.get(name); earlier !== undefined; earlier = resumed.get(name)) {
          earlier.cut();
          await earlier.done;
        }
      }
      const finished = Promise.withResolvers<undefined>();
      const entry: ActiveUpload = {
        attemptId: uploader.attemptId,
        cut: () => void request.destroy(),
        done: finished.promise,
      };
      activeUploads.add(entry);
      if (plan.part !== null) resumed.set(name, entry);
      try {
        return await run(delivery);
      } catch (cause) {
        if (cause instanceof OutOfRoom) return refuseFor(cause);
        // The attempt can end at any time, and its incomplete files are then removed. So the error may be a consequence of that.
        const may = orchestrator.files.mayUpload(uploader);
        if (!may.ok) return may;
        if (!isFull(cause)) throw cause;
        deps.log.warn('artifact.disk_full', { job_id: uploader.jobId, cause });
        return noRoom;
      } finally {
        activeUploads.delete(entry);
        if (resumed.get(name) === entry) resumed.delete(name);
        finished.resolve(undefined);
      }
    },
    async progressOf(uploader, key) {
      const upload = orchestrator.files.upload(uploader, key);
      if (upload === null) return null;
      return { offset: await files.sizeOf(upload.jobId, upload.file), total: upload.bytes };
    },
  };
}

const isFull = (cause: unknown): boolean =>
  cause instanceof Error && 'code' in cause && (cause.code === 'ENOSPC' || cause.code === 'EDQUOT');
