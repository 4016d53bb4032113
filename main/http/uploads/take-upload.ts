import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { ArtifactView } from '../../../protocol/artifact.ts';
import { accept, type Outcome, refuse } from '../../../protocol/problem.ts';
import type { Orchestrator, Uploader } from '../../orchestrator/index.ts';
import type { Artifact, ArtifactFiles, FileEnd, Log, Upload } from '../../orchestrator/ports/index.ts';
import { type Pace, pace, receiveBody } from './receive-body.ts';
import type { RunningHashes } from './running-hashes.ts';
import { findMismatch, type UploadPlan } from './upload-plan.ts';
import { type Claim, type Growing, lookAheadBytes, type UploadRoom } from './upload-room.ts';

export interface UploadDeps {
  readonly orchestrator: {
    readonly files: Pick<
      Orchestrator['files'],
      | 'mayUpload'
      | 'beginUpload'
      | 'growUpload'
      | 'settleUpload'
      | 'finishUpload'
      | 'dropUpload'
      | 'upload'
      | 'sharedFile'
    >;
  };
  readonly files: ArtifactFiles;
  /** Disk space in bytes that uploads must leave free. */
  readonly reserveBytes: number;
  readonly pace?: Pace;
  readonly log: Log;
}

export interface Delivery {
  readonly uploader: Uploader;
  readonly key: string;
  readonly plan: UploadPlan;
  readonly request: IncomingMessage;
  /** Called when the upload is accepted, before the body is read. */
  readonly onAccepted: () => void;
}

/** The artifact if the file is complete, otherwise the number of bytes so far. Null if the client disconnected. */
export type Delivered = ArtifactView | { readonly offset: number; readonly total: number } | null;

/** The state of one request. */
export interface Scope extends UploadDeps {
  readonly room: UploadRoom;
  readonly claim: Claim;
  readonly hashes: RunningHashes;
}

/** Receives a whole file in one request. */
export async function takeWhole(
  scope: Scope,
  { uploader, key, plan, request, onAccepted }: Delivery,
): Promise<Outcome<Delivered>> {
  const { orchestrator, files } = scope;
  const file = files.newName();
  const reserved = Math.min(plan.length, lookAheadBytes);
  const startedAt = await orchestrator.files.beginUpload(uploader, {
    file,
    key,
    bytes: plan.length,
    reserved,
    isResumable: false,
  });
  if (!startedAt.ok) return startedAt;
  let isKept = false;
  try {
    onAccepted();
    const growing = { uploader, file, first: 0, last: plan.length, reserved };
    const sha256 = await withOpenFile(scope, growing, async end => {
      const hash = createHash('sha256');
      const arrived = await receiveBody(request, plan, end, { pace: scope.pace ?? pace, hash });
      if (arrived.kind === 'broken') return accept(null);
      const whole = { ...arrived.digests, sha256: hash.digest('hex') };
      const wrong = findMismatch(plan.ofBody, whole) ?? findMismatch(plan.ofFile, whole);
      if (wrong !== null) return checksumRefusal(wrong);
      await end.sync();
      return accept(whole.sha256);
    });
    if (!sha256.ok || sha256.value === null) return sha256.ok ? accept(null) : sha256;
    const content = { bytes: plan.length, sha256: sha256.value };
    const outcome = await finish(scope, uploader, { file, key }, content);
    isKept = outcome.ok;
    return outcome;
  } finally {
    if (!isKept) await drop(scope, { file, jobId: uploader.jobId });
  }
}

/** Receives a part of a file. If the connection breaks, the bytes so far are kept, and the next part starts after them. */
export async function takePart(
  scope: Scope,
  delivery: Delivery,
  part: NonNullable<UploadPlan['part']>,
): Promise<Outcome<Delivered>> {
  const { uploader, key, plan } = delivery;
  const reserved = part.first + Math.min(plan.length, lookAheadBytes);
  const upload = await uploadAt(scope, uploader, key, { ...part, reserved });
  if (!upload.ok) return upload;
  const { file } = upload.value;
  const last = part.first + plan.length;
  const growing = { uploader, file, first: part.first, last, reserved };
  let isSettled = false;
  try {
    const outcome = await writePart(scope, delivery, part, growing);
    // True if the file is complete, or exactly the reserved bytes have arrived. The reservation then needs no correction.
    isSettled = outcome.ok && outcome.value !== null && (last === part.total || reserved === last);
    return outcome;
  } finally {
    if (!isSettled) await scope.room.settle(uploader, file);
  }
}

async function writePart(
  scope: Scope,
  { uploader, key, plan, request, onAccepted }: Delivery,
  { first, total }: NonNullable<UploadPlan['part']>,
  growing: Growing,
): Promise<Outcome<Delivered>> {
  const { files, hashes } = scope;
  const { file } = growing;
  const hash = hashes.take(file, first);
  const offset = first + plan.length;
  onAccepted();
  const taken = await withOpenFile(scope, growing, async end => {
    const arrived = await receiveBody(request, plan, end, { pace: scope.pace ?? pace, hash });
    if (arrived.kind === 'broken') return accept(null);
    const wrong = findMismatch(plan.ofBody, arrived.digests);
    if (wrong !== null) {
      await end.cutTo(first);
      return checksumRefusal(wrong);
    }
    // If the machine crashes, parts may be lost. The digest of the whole file then reveals that.
    if (offset < total) end.beginSync();
    else await end.sync();
    return accept(true);
  });
  if (!taken.ok || taken.value === null) return taken.ok ? accept(null) : taken;
  if (offset < total) {
    if (hash !== null) hashes.keep(file, offset, hash);
    return accept({ offset, total });
  }
  const sha256 = hash === null ? await files.digestOf(uploader.jobId, file) : hash.digest('hex');
  const wrong = findMismatch(plan.ofFile, { sha256 });
  if (wrong !== null) {
    await drop(scope, { file, jobId: uploader.jobId });
    return checksumRefusal(wrong);
  }
  const outcome = await finish(scope, uploader, { file, key }, { bytes: total, sha256 });
  // If the upload was refused, its file is removed, so that no client resumes the upload.
  if (!outcome.ok) await drop(scope, { file, jobId: uploader.jobId });
  return outcome;
}

/**
 * Stores the artifact. If the job has an artifact with the same content, both share its file. That file must still exist, because
 * a restored database may list lost files.
 */
async function finish(
  { orchestrator, files }: UploadDeps,
  uploader: Uploader,
  upload: Pick<Upload, 'file' | 'key'>,
  content: Pick<Artifact, 'bytes' | 'sha256'>,
): Promise<Outcome<ArtifactView>> {
  const sharedFile = orchestrator.files.sharedFile(uploader.jobId, content);
  // Sharing an empty file would save nothing, and `sizeOf` also returns 0 for a missing file.
  const isThere =
    sharedFile !== null &&
    content.bytes > 0 &&
    (await files.sizeOf(uploader.jobId, sharedFile)) === content.bytes;
  return orchestrator.files.finishUpload(
    uploader,
    { ...upload, shared: isThere ? sharedFile : null },
    content,
  );
}

/**
 * Returns the upload of this part. The first part starts a new upload. A later part must start at the end of the stored bytes.
 */
async function uploadAt(
  { orchestrator, files }: UploadDeps,
  uploader: Uploader,
  key: string,
  { first, total, reserved }: NonNullable<UploadPlan['part']> & { readonly reserved: number },
): Promise<Outcome<Pick<Upload, 'file'>>> {
  if (first === 0)
    return orchestrator.files.beginUpload(uploader, {
      file: files.newName(),
      key,
      bytes: total,
      reserved,
      isResumable: true,
    });
  const stored = orchestrator.files.upload(uploader, key);
  const storedBytes = stored === null ? 0 : await files.sizeOf(uploader.jobId, stored.file);
  if (stored === null || stored.bytes !== total || storedBytes !== first)
    return refuse(
      'upload_offset',
      stored === null
        ? 'The server has no part of this file: start with its first byte'
        : `The server has ${storedBytes} of ${stored.bytes} bytes of this file: continue after them, or start with its first byte`,
    );
  const may = await orchestrator.files.growUpload(uploader, stored.file, { was: stored.reserved, reserved });
  return may.ok ? accept(stored) : may;
}

async function withOpenFile<T>(
  { files, room, claim }: Scope,
  growing: Growing,
  act: (end: FileEnd) => Promise<T>,
): Promise<T> {
  const end = await files.open(growing.uploader.jobId, growing.file, growing.first);
  try {
    return await act(room.limited(end, claim, growing));
  } finally {
    await end.close();
  }
}

/** Removes the file immediately. If that fails, the sweep removes it later. */
async function drop(
  { orchestrator, files, log }: UploadDeps,
  { file, jobId }: Pick<Upload, 'file' | 'jobId'>,
): Promise<void> {
  try {
    await files.remove(jobId, file);
    await orchestrator.files.dropUpload(file);
  } catch (cause) {
    log.warn('artifact.not_dropped', { job_id: jobId, file, cause });
  }
}

const checksumRefusal = (algorithm: string) =>
  refuse(
    'checksum_mismatch',
    `The received bytes do not match the ${algorithm} sent with them, so none of them are stored. Send them again`,
  );
