import type { IncomingMessage } from 'node:http';
import type { ArtifactView } from '../../protocol/artifact.ts';
import { accept, type Outcome, refuse } from '../../protocol/problem.ts';
import type { Orchestrator, Uploader } from '../orchestrator/index.ts';
import type { ArtifactFiles, FileEnd, Log, Upload } from '../orchestrator/ports.ts';
import { type Pace, pace, receiveBody } from './receive-body.ts';
import { mismatch, type UploadPlan } from './upload-plan.ts';

export interface UploadParts {
  readonly orchestrator: Pick<
    Orchestrator,
    'beginUpload' | 'resumeUpload' | 'finishUpload' | 'dropUpload' | 'upload'
  >;
  readonly files: ArtifactFiles;
  /** So much of the disk is for everything else. */
  readonly reserveBytes: number;
  readonly pace?: Pace;
  readonly log: Log;
}

export interface Delivery {
  readonly uploader: Uploader;
  readonly key: string;
  readonly plan: UploadPlan;
  readonly request: IncomingMessage;
  /** It is to be sent, and may take its time. */
  readonly onAccepted: () => void;
}

/** All of it is there, or so many of its first bytes. Null: whoever sent it is gone. */
export type Delivered = ArtifactView | { readonly offset: number; readonly total: number } | null;

export interface UploadDesk {
  receive(delivery: Delivery): Promise<Outcome<Delivered>>;
  /** Of one that can be resumed; null when nothing is under way. */
  progressOf(
    uploader: Uploader,
    key: string,
  ): Promise<{ readonly offset: number; readonly total: number } | null>;
}

/** Of one attempt, and of all together. */
const mostAtOnce = { ofAttempt: 16, inAll: 256 };

interface UnderWay {
  readonly attemptId: string;
  /** Of what is still to come. */
  left: number;
  cut(): void;
  readonly done: Promise<unknown>;
}

/**
 * Takes in what trainers bring. A file has its row before its first byte, so that no crash leaves one that nobody knows of; it is an
 * artifact with the transaction that says so, and not before, however many send the same.
 */
export function createUploadDesk(parts: UploadParts): UploadDesk {
  const { orchestrator, files, reserveBytes } = parts;
  const underWay = new Set<UnderWay>();
  /** By attempt and key: two that resume the same would write into each other. */
  const resumed = new Map<string, UnderWay>();

  const crowded = ({ attemptId }: Uploader): boolean =>
    underWay.size >= mostAtOnce.inAll ||
    [...underWay].filter(each => each.attemptId === attemptId).length >= mostAtOnce.ofAttempt;

  const hasRoom = async (bytes: number): Promise<boolean> => {
    const coming = [...underWay].reduce((sum, { left }) => sum + left, 0);
    return (await files.freeBytes()) - reserveBytes >= coming + bytes;
  };

  const run = (delivery: Delivery, entry: UnderWay): Promise<Outcome<Delivered>> =>
    delivery.plan.part === null
      ? takeWhole(parts, delivery, entry)
      : takePart(parts, delivery, delivery.plan.part, entry);

  return {
    async receive(delivery) {
      const { uploader, key, plan, request } = delivery;
      if (crowded(uploader))
        return refuse('too_many_uploads', 'Too many uploads come at once: send fewer at a time');
      const name = `${uploader.attemptId} ${key}`;
      if (plan.part !== null) {
        // Who comes anew has lost the connection, whether it shows here already or not.
        for (let other = resumed.get(name); other !== undefined; other = resumed.get(name)) {
          other.cut();
          await other.done;
        }
      }
      const finished = Promise.withResolvers<undefined>();
      const entry: UnderWay = {
        attemptId: uploader.attemptId,
        left: 0,
        cut: () => void request.destroy(),
        done: finished.promise,
      };
      underWay.add(entry);
      if (plan.part !== null) resumed.set(name, entry);
      try {
        if (!(await hasRoom(plan.length))) return noRoom;
        entry.left = plan.length;
        return await run(delivery, entry);
      } catch (cause) {
        if (!isFull(cause)) throw cause;
        parts.log.warn('artifact.disk_full', { job_id: uploader.jobId, cause });
        return noRoom;
      } finally {
        underWay.delete(entry);
        if (resumed.get(name) === entry) resumed.delete(name);
        finished.resolve(undefined);
      }
    },
    async progressOf(uploader, key) {
      const upload = orchestrator.upload(uploader, key);
      if (upload === null) return null;
      return { offset: await files.sizeOf(upload.jobId, upload.file), total: upload.bytes };
    },
  };
}

const noRoom = refuse(
  'storage',
  'The file could not be stored, and nothing of it was: the disk of the orchestrator has no room for it. Try again later',
);

const isFull = (cause: unknown): boolean =>
  cause instanceof Error && 'code' in cause && (cause.code === 'ENOSPC' || cause.code === 'EDQUOT');

async function takeWhole(
  parts: UploadParts,
  { uploader, key, plan, request, onAccepted }: Delivery,
  entry: UnderWay,
): Promise<Outcome<Delivered>> {
  const { orchestrator, files } = parts;
  const file = files.newName();
  const begun = await orchestrator.beginUpload(uploader, {
    file,
    key,
    bytes: plan.length,
    isResumable: false,
  });
  if (!begun.ok) return begun;
  let isKept = false;
  try {
    onAccepted();
    const sha256 = await writing(files, uploader, file, 0, async end => {
      const arrived = await receiveBody(request, plan, counted(end, entry), parts.pace ?? pace);
      if (arrived.kind === 'broken') return accept(null);
      const wrong = mismatch(plan.ofBody, arrived.digests) ?? mismatch(plan.ofFile, arrived.digests);
      if (wrong !== null) return notThose(wrong);
      await end.sync();
      return accept(arrived.digests.sha256);
    });
    if (!sha256.ok || sha256.value === null) return sha256.ok ? accept(null) : sha256;
    const content = { bytes: plan.length, sha256: sha256.value };
    const outcome = await orchestrator.finishUpload(uploader, { file, key }, content);
    isKept = outcome.ok;
    return outcome;
  } finally {
    if (!isKept) await drop(parts, { file, jobId: uploader.jobId });
  }
}

/** What has come stays where it is when the connection breaks, and the next part begins behind it. */
async function takePart(
  parts: UploadParts,
  { uploader, key, plan, request, onAccepted }: Delivery,
  { first, total }: NonNullable<UploadPlan['part']>,
  entry: UnderWay,
): Promise<Outcome<Delivered>> {
  const { orchestrator, files } = parts;
  const upload = await uploadAt(parts, uploader, key, { first, total });
  if (!upload.ok) return upload;
  const { file } = upload.value;
  onAccepted();
  const whole = await writing(files, uploader, file, first, async end => {
    const arrived = await receiveBody(request, plan, counted(end, entry), parts.pace ?? pace);
    if (arrived.kind === 'broken') return accept(null);
    const wrong = mismatch(plan.ofBody, arrived.digests);
    if (wrong !== null) {
      await end.cutTo(first);
      return notThose(wrong);
    }
    await end.sync();
    return accept(arrived.digests);
  });
  if (!whole.ok || whole.value === null) return whole.ok ? accept(null) : whole;
  const offset = first + plan.length;
  if (offset < total) return accept({ offset, total });
  // Of what came in several parts nobody has the digest yet.
  const sha256 = first === 0 ? whole.value.sha256 : await files.digestOf(uploader.jobId, file);
  const wrong = mismatch(plan.ofFile, { sha256 });
  if (wrong !== null) {
    await drop(parts, { file, jobId: uploader.jobId });
    return notThose(wrong);
  }
  const outcome = await orchestrator.finishUpload(uploader, { file, key }, { bytes: total, sha256 });
  // With it went the row, and who may begin anew may not go on.
  if (!outcome.ok) await drop(parts, { file, jobId: uploader.jobId });
  return outcome;
}

/** What the part belongs to: a new one when it is the first, and else the one that ends where the part begins. */
async function uploadAt(
  { orchestrator, files }: UploadParts,
  uploader: Uploader,
  key: string,
  { first, total }: NonNullable<UploadPlan['part']>,
): Promise<Outcome<Pick<Upload, 'file'>>> {
  if (first === 0)
    return orchestrator.beginUpload(uploader, {
      file: files.newName(),
      key,
      bytes: total,
      isResumable: true,
    });
  const known = orchestrator.upload(uploader, key);
  const there = known === null ? 0 : await files.sizeOf(uploader.jobId, known.file);
  if (known === null || known.bytes !== total || there !== first)
    return refuse(
      'upload_offset',
      known === null
        ? 'Nothing of this file is there: begin with its first byte'
        : `There are ${there} of ${known.bytes} bytes of this file: go on behind them, or begin with its first byte`,
    );
  const may = await orchestrator.resumeUpload(uploader, known.file);
  return may.ok ? accept(known) : may;
}

async function writing<T>(
  files: ArtifactFiles,
  { jobId }: Uploader,
  file: string,
  at: number,
  act: (end: FileEnd) => Promise<T>,
): Promise<T> {
  const end = await files.open(jobId, file, at);
  try {
    return await act(end);
  } finally {
    await end.close();
  }
}

/** What is still to come takes up room that others may not count on. */
const counted = (end: FileEnd, entry: UnderWay): FileEnd => ({
  ...end,
  async write(bytes) {
    await end.write(bytes);
    entry.left -= bytes.length;
  },
});

/** At once, for the sake of the disk; should that fail, its row is found by the sweep. */
async function drop(
  { orchestrator, files, log }: UploadParts,
  { file, jobId }: Pick<Upload, 'file' | 'jobId'>,
): Promise<void> {
  try {
    await files.remove(jobId, file);
    await orchestrator.dropUpload(file);
  } catch (cause) {
    log.warn('artifact.not_dropped', { job_id: jobId, file, cause });
  }
}

const notThose = (algorithm: string) =>
  refuse(
    'checksum_mismatch',
    `The bytes that came are not those of the ${algorithm} that was sent with them: nothing of them is kept. Send them again`,
  );
