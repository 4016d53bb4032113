import { type Outcome, type Refusal, refuse } from '../../../protocol/problem.ts';
import type { Orchestrator, Uploader } from '../../orchestrator/index.ts';
import type { ArtifactFiles, FileEnd, Log } from '../../orchestrator/ports/index.ts';

/** How many bytes a request reserves beyond those that have arrived, so that an announced size locks no storage. */
export const lookAheadBytes = 64 * 1_048_576;

/** Disk space that one request has reserved but not yet filled. */
export interface Claim {
  ahead: number;
}

export interface RoomDeps {
  readonly orchestrator: { readonly files: Pick<Orchestrator['files'], 'growUpload' | 'settleUpload'> };
  readonly files: Pick<ArtifactFiles, 'freeBytes' | 'sizeOf' | 'remove'>;
  /** Disk space that uploads must leave free. */
  readonly reserveBytes: number;
  readonly log: Log;
}

/** The file that a request writes to; `reserved` and `last` are positions in it. */
export interface Growing {
  readonly uploader: Uploader;
  readonly file: string;
  readonly first: number;
  readonly last: number;
  readonly reserved: number;
}

/** Thrown by a write when the disk or the quota is full. The bytes that have arrived stay on the disk for now. */
export class OutOfRoom extends Error {
  override readonly name = 'OutOfRoom';
  readonly refusal: Refusal;
  constructor(refusal: Refusal) {
    super(refusal.detail);
    this.refusal = refusal;
  }
}

export const noRoom = refuse(
  'storage',
  "The file was not stored because the server's disk has no room for it. Try again later",
);

export type UploadRoom = ReturnType<typeof createUploadRoom>;

/** Shares the free disk space between concurrent uploads. */
export function createUploadRoom({ orchestrator, files, reserveBytes, log }: RoomDeps) {
  const claims = new Set<Claim>();

  /** Grows the claim if the disk has room for `bytes` more beside all other claims. */
  const claimMore = async (claim: Claim, ahead: number, bytes: number): Promise<boolean> => {
    const free = (await files.freeBytes()) - reserveBytes;
    const claimed = [...claims].reduce((sum, each) => sum + each.ahead, 0);
    if (free < claimed + bytes) return false;
    claim.ahead += ahead;
    return true;
  };

  return {
    /** Opens a claim for a request of this length; returns null when the disk cannot hold all of it now. */
    async open(length: number): Promise<Claim | null> {
      const claim: Claim = { ahead: 0 };
      claims.add(claim);
      if (await claimMore(claim, Math.min(length, lookAheadBytes), length)) return claim;
      claims.delete(claim);
      return null;
    },

    close: (claim: Claim): boolean => claims.delete(claim),

    /** Returns a file end that reserves more space whenever a look-ahead is used up. Its writes throw `OutOfRoom`. */
    limited(end: FileEnd, claim: Claim, { uploader, file, first, last, reserved }: Growing): FileEnd {
      let at = first;
      let until = reserved;
      const grow = async (): Promise<void> => {
        const next = Math.min(last, until + lookAheadBytes);
        if (!(await claimMore(claim, next - until, next - until))) throw new OutOfRoom(noRoom.refusal);
        const grown = await orchestrator.files.growUpload(uploader, file, { was: until, reserved: next });
        if (!grown.ok) throw new OutOfRoom(afterStart(grown.refusal));
        until = next;
      };
      return {
        ...end,
        async write(bytes) {
          while (at + bytes.length > until) await grow();
          await end.write(bytes);
          at += bytes.length;
          claim.ahead -= bytes.length;
        },
      };
    },

    /** Call after a request that did not finish the file. The upload's reservation becomes the bytes that are on the disk. */
    async settle({ jobId }: Uploader, file: string): Promise<void> {
      try {
        const isThere = await orchestrator.files.settleUpload(file, await files.sizeOf(jobId, file));
        if (!isThere) await files.remove(jobId, file);
      } catch (cause) {
        log.warn('artifact.not_settled', { job_id: jobId, file, cause });
      }
    },
  };
}

/** Storage may become free later, and the bytes of a resumable upload are kept. So this is a server error, not one of the request. */
const afterStart = (refusal: Refusal): Refusal =>
  refusal.code === 'quota_exceeded' ? refuse('storage', refusal.detail).refusal : refusal;

export const refuseFor = ({ refusal }: OutOfRoom): Outcome<never> => ({ ok: false, refusal });
