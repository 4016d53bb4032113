import { type Outcome, type Refusal, refuse } from '../../../protocol/problem.ts';
import type { Orchestrator, Uploader } from '../../orchestrator/index.ts';
import type { ArtifactFiles, FileEnd, Log } from '../../orchestrator/ports/index.ts';

/**
 * Number of bytes that a request reserves at a time. Reserving the whole announced size would let a client block storage without
 * sending data.
 */
export const lookAheadBytes = 64 * 1_048_576;

/** Disk space in bytes that one request has reserved but not used yet. */
export interface Claim {
  ahead: number;
}

export interface RoomDeps {
  readonly orchestrator: { readonly files: Pick<Orchestrator['files'], 'growUpload' | 'settleUpload'> };
  readonly files: Pick<ArtifactFiles, 'freeBytes' | 'sizeOf' | 'remove'>;
  /** Disk space in bytes that uploads must leave free. */
  readonly reserveBytes: number;
  readonly log: Log;
}

/** The file to which a request writes. `first`, `last` and `reserved` are offsets in it. */
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

/** Divides the free disk space among concurrent uploads. */
export function createUploadRoom({ orchestrator, files, reserveBytes, log }: RoomDeps) {
  const claims = new Set<Claim>();

  /** Increases the claim if the disk has room for `bytes` more in addition to all claims. */
  const claimMore = async (claim: Claim, ahead: number, bytes: number): Promise<boolean> => {
    const free = (await files.freeBytes()) - reserveBytes;
    const claimed = [...claims].reduce((sum, each) => sum + each.ahead, 0);
    if (free < claimed + bytes) return false;
    claim.ahead += ahead;
    return true;
  };

  return {
    /** Creates a claim for a request of this length. Returns null when the disk cannot store all of it now. */
    async open(length: number): Promise<Claim | null> {
      const claim: Claim = { ahead: 0 };
      claims.add(claim);
      if (await claimMore(claim, Math.min(length, lookAheadBytes), length)) return claim;
      claims.delete(claim);
      return null;
    },

    close: (claim: Claim): boolean => claims.delete(claim),

    /** Returns a file end that reserves more space whenever the reserved space is used. Its writes throw `OutOfRoom`. */
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

    /** Call this after a request that did not finish the file. Reduces the upload's reservation to the bytes on the disk. */
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

/**
 * Converts the refusal of a request whose body has started. Space may become free later, and the bytes of a resumable upload are
 * kept. So this counts as an error of the server, not of the request.
 */
const afterStart = (refusal: Refusal): Refusal =>
  refusal.code === 'quota_exceeded' ? refuse('storage', refusal.detail).refusal : refusal;

export const refuseFor = ({ refusal }: OutOfRoom): Outcome<never> => ({ ok: false, refusal });
