import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { statfs } from 'node:fs/promises';
import type { ContentFiles, Locks } from '../../../datasets/content-files.ts';
import { accept, type Outcome, refuse } from '../../../protocol/problem.ts';
import type { Orchestrator } from '../../orchestrator/index.ts';
import type { FileEnd, Log } from '../../orchestrator/ports/index.ts';
import { type Pace, pace, receiveBody } from './receive-body.ts';
import { createUnfinishedUploads, type UnfinishedUploads } from './unfinished-uploads.ts';
import { findMismatch, type UploadPlan } from './upload-plan.ts';

export interface ContentDeps {
  readonly orchestrator: {
    readonly files: Pick<Orchestrator['files'], 'roomForContent' | 'contentStored' | 'storedContents'>;
  };
  readonly files: ContentFiles;
  /** An existing folder on the disk of the contents. */
  readonly folder: string;
  /** The code that removes contents uses the same locks. */
  readonly locks: Locks;
  /** Disk space in bytes that uploads must leave free. */
  readonly reserveBytes: number;
  readonly pace?: Pace | undefined;
  readonly log: Log;
}

export interface ContentDelivery {
  readonly sha256: string;
  readonly user: string;
  readonly plan: UploadPlan;
  readonly request: IncomingMessage;
  /** Called before the body is read. The time limit for requests does not apply after that. */
  readonly onAccepted: () => void;
}

export interface ContentHandler {
  /** Receives a content or a part of it. Returns the number of bytes that are now stored; null if the connection broke. */
  receive(delivery: ContentDelivery): Promise<Outcome<number | null>>;
  /** Returns the number of stored bytes, and whether the content is complete. */
  progressOf(sha256: string): Promise<{ readonly bytes: number; readonly isComplete: boolean }>;
  /** Returns the contents that are not stored. Also checks the disk, because the database may list lost files. */
  missing(sha256s: readonly string[]): Promise<readonly string[]>;
}

/** Maximum number of concurrent uploads. */
const maxConcurrent = { perUser: 16, total: 64 };

interface ActiveUpload {
  readonly sha256: string;
  readonly user: string;
  /** Size of the whole content. */
  readonly bytes: number;
  /** Number of bytes that have not arrived yet. */
  rest: number;
  readonly request: IncomingMessage;
  readonly done: Promise<unknown>;
}

const noRoom = refuse(
  'storage',
  "The file was not stored because the server's disk has no room for it. Make room there, and push again",
);

/** Receives the contents of datasets. A content counts as stored once all of it is on the disk and has the announced SHA-256. */
export function createContentHandler(deps: ContentDeps): ContentHandler {
  const { files, locks } = deps;
  const activeUploads = new Set<ActiveUpload>();
  const unfinished = createUnfinishedUploads(files);

  /**
   * Locks a content. First ends an earlier upload of the same content by the same user: its client has lost the connection, even
   * if the server has not noticed that. Returns the function that releases the lock; null while another user uploads the content,
   * or the sweep removes it.
   */
  const takeLock = async ({ sha256, user }: ContentDelivery): Promise<(() => void) | null> => {
    const earlierUpload = [...activeUploads].find(each => each.sha256 === sha256 && each.user === user);
    earlierUpload?.request.destroy();
    await earlierUpload?.done;
    return locks.acquire(sha256);
  };

  return {
    async receive(delivery) {
      const { sha256, user, plan, request } = delivery;
      const release = await takeLock(delivery);
      if (release === null)
        return refuse('too_many_uploads', 'Another upload of this file is in progress: try again soon');
      const finished = Promise.withResolvers<undefined>();
      const entry: ActiveUpload = {
        sha256,
        user,
        bytes: bytesOf(plan),
        rest: plan.length,
        request,
        done: finished.promise,
      };
      const others = [...activeUploads];
      activeUploads.add(entry);
      try {
        const admitted = await admit(deps, delivery, others, unfinished);
        return admitted.ok ? await receiveContent(deps, delivery, entry) : admitted;
      } catch (cause) {
        if (!isFull(cause)) throw cause;
        deps.log.warn('content.disk_full', { sha256, cause });
        return noRoom;
      } finally {
        activeUploads.delete(entry);
        unfinished.changed(sha256);
        release();
        finished.resolve(undefined);
      }
    },
    async progressOf(sha256) {
      const [stored] = deps.orchestrator.files.storedContents([sha256]);
      const isComplete = stored !== undefined && (await files.has(stored));
      return { bytes: isComplete ? stored.bytes : await files.partBytes(sha256), isComplete };
    },
    async missing(sha256s) {
      const stored = deps.orchestrator.files.storedContents(sha256s);
      const isOnDisk = await Promise.all(stored.map(content => files.has(content)));
      const onDisk = new Set(stored.filter((_, index) => isOnDisk[index]).map(({ sha256 }) => sha256));
      return sha256s.filter(sha256 => !onDisk.has(sha256));
    },
  };
}

const bytesOf = ({ part, length }: UploadPlan): number => part?.total ?? length;
const sumOf = (numbers: IteratorObject<number>): number => numbers.reduce((sum, each) => sum + each, 0);

/** Refuses the upload if too many others are in progress, or the disk space is not sufficient. */
async function admit(
  { orchestrator, folder, reserveBytes }: ContentDeps,
  { sha256, user, plan }: ContentDelivery,
  others: readonly ActiveUpload[],
  unfinished: UnfinishedUploads,
): Promise<Outcome<null>> {
  const uploadsOfUser = others.filter(each => each.user === user).length;
  if (others.length >= maxConcurrent.total || uploadsOfUser >= maxConcurrent.perUser)
    return refuse('too_many_uploads', 'Too many concurrent uploads: send fewer at a time');
  const incoming = new Map(others.map(each => [each.sha256, each.bytes]));
  incoming.delete(sha256);
  const incomplete = await unfinished.bytesExcept(new Set([sha256, ...incoming.keys()]));
  const room = orchestrator.files.roomForContent(bytesOf(plan), incomplete + sumOf(incoming.values()));
  if (!room.ok) {
    unfinished.recount();
    return room;
  }
  const { bavail, bsize } = await statfs(folder);
  const rest = sumOf(others.values().map(each => each.rest));
  return bavail * bsize - reserveBytes < rest + plan.length ? noRoom : accept(null);
}

async function receiveContent(
  { orchestrator, files, ...deps }: ContentDeps,
  { sha256, plan, request, onAccepted }: ContentDelivery,
  entry: ActiveUpload,
): Promise<Outcome<number | null>> {
  const { first, total } = plan.part ?? { first: 0, total: plan.length };
  const stored = await files.partBytes(sha256);
  if (first > stored)
    return refuse('upload_offset', `The server has ${stored} bytes of this file: continue at that offset`);
  const part = await files.openPart(sha256, first);
  const hash = createHash('sha256');
  try {
    onAccepted();
    const terms = { pace: deps.pace ?? pace, hash };
    const arrived = await receiveBody(request, plan, countWrites(part, entry), terms);
    if (arrived.kind === 'broken') return accept(null);
    const wrong = findMismatch(plan.ofBody, arrived.digests);
    if (wrong !== null)
      return refuse('checksum_mismatch', `The bytes do not have the ${wrong} that the request announced`);
  } finally {
    await part.close();
  }
  if (first + plan.length < total) return accept(first + plan.length);
  const content = { sha256, bytes: total };
  const written = first === 0 ? { sha256: hash.digest('hex'), bytes: total } : undefined;
  if (!(await files.complete(content, new AbortController().signal, written)))
    return refuse(
      'checksum_mismatch',
      'The file does not match its SHA-256, because it changed while it was pushed. Push it again',
    );
  await orchestrator.files.contentStored(content);
  return accept(total);
}

type Part = Awaited<ReturnType<ContentFiles['openPart']>>;

const countWrites = (part: Part, entry: ActiveUpload): Pick<FileEnd, 'write'> => ({
  async write(bytes) {
    await part.write(bytes);
    entry.rest -= bytes.length;
  },
});

const isFull = (cause: unknown): boolean =>
  cause instanceof Error && 'code' in cause && (cause.code === 'ENOSPC' || cause.code === 'EDQUOT');
