import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { ArtifactView } from '../../protocol/artifact.ts';
import { accept, type Outcome, refuse } from '../../protocol/problem.ts';
import type { Orchestrator, Uploader } from '../orchestrator/index.ts';
import type { Artifact, ArtifactFiles, FileEnd, Log, Upload } from '../orchestrator/ports.ts';
import { type Pace, pace, receiveBody } from './receive-body.ts';
import type { RunningHashes } from './running-hashes.ts';
import { mismatch, type UploadPlan } from './upload-plan.ts';
import { type Claim, type Growing, lookAheadBytes, type UploadRoom } from './upload-room.ts';

export interface UploadParts {
  readonly orchestrator: Pick<
    Orchestrator,
    | 'mayUpload'
    | 'beginUpload'
    | 'growUpload'
    | 'settleUpload'
    | 'finishUpload'
    | 'dropUpload'
    | 'upload'
    | 'sharedFile'
  >;
  readonly files: ArtifactFiles;
  /** The rest of the disk stays free for everything else. */
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

/** What one request works with. */
export interface Scope extends UploadParts {
  readonly room: UploadRoom;
  readonly claim: Claim;
  readonly hashes: RunningHashes;
}

export async function takeWhole(
  scope: Scope,
  { uploader, key, plan, request, onAccepted }: Delivery,
): Promise<Outcome<Delivered>> {
  const { orchestrator, files } = scope;
  const file = files.newName();
  const reserved = Math.min(plan.length, lookAheadBytes);
  const begun = await orchestrator.beginUpload(uploader, {
    file,
    key,
    bytes: plan.length,
    reserved,
    isResumable: false,
  });
  if (!begun.ok) return begun;
  let isKept = false;
  try {
    onAccepted();
    const growing = { uploader, file, first: 0, last: plan.length, reserved };
    const sha256 = await writing(scope, growing, async end => {
      const hash = createHash('sha256');
      const arrived = await receiveBody(request, plan, end, { pace: scope.pace ?? pace, file: hash });
      if (arrived.kind === 'broken') return accept(null);
      const whole = { ...arrived.digests, sha256: hash.digest('hex') };
      const wrong = mismatch(plan.ofBody, whole) ?? mismatch(plan.ofFile, whole);
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

/** When the connection breaks, what has arrived is kept, and the next part starts behind it. */
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
    // All of the file has arrived, or just the bytes that are reserved.
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
  const taken = await writing(scope, growing, async end => {
    const arrived = await receiveBody(request, plan, end, { pace: scope.pace ?? pace, file: hash });
    if (arrived.kind === 'broken') return accept(null);
    const wrong = mismatch(plan.ofBody, arrived.digests);
    if (wrong !== null) {
      await end.cutTo(first);
      return checksumRefusal(wrong);
    }
    // A crash of the machine may cost parts: the digest of the whole file then tells.
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
  const wrong = mismatch(plan.ofFile, { sha256 });
  if (wrong !== null) {
    await drop(scope, { file, jobId: uploader.jobId });
    return checksumRefusal(wrong);
  }
  const outcome = await finish(scope, uploader, { file, key }, { bytes: total, sha256 });
  // With it went the row, and who may begin anew may not go on.
  if (!outcome.ok) await drop(scope, { file, jobId: uploader.jobId });
  return outcome;
}

/** A file of the job with the same content is used again if it is still on the disk: a restored database may name lost ones. */
async function finish(
  { orchestrator, files }: UploadParts,
  uploader: Uploader,
  upload: Pick<Upload, 'file' | 'key'>,
  content: Pick<Artifact, 'bytes' | 'sha256'>,
): Promise<Outcome<ArtifactView>> {
  const known = orchestrator.sharedFile(uploader.jobId, content);
  // Nothing is saved by sharing an empty file, and a lost one looks the same.
  const isThere =
    known !== null && content.bytes > 0 && (await files.sizeOf(uploader.jobId, known)) === content.bytes;
  return orchestrator.finishUpload(uploader, { ...upload, shared: isThere ? known : null }, content);
}

/** What the part belongs to: a new one when it is the first, and else the one that ends where the part begins. */
async function uploadAt(
  { orchestrator, files }: UploadParts,
  uploader: Uploader,
  key: string,
  { first, total, reserved }: NonNullable<UploadPlan['part']> & { readonly reserved: number },
): Promise<Outcome<Pick<Upload, 'file'>>> {
  if (first === 0)
    return orchestrator.beginUpload(uploader, {
      file: files.newName(),
      key,
      bytes: total,
      reserved,
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
  const may = await orchestrator.growUpload(uploader, known.file, { was: known.reserved, reserved });
  return may.ok ? accept(known) : may;
}

async function writing<T>(
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

/** Frees the disk immediately. If that fails, the sweep finds the row later. */
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

const checksumRefusal = (algorithm: string) =>
  refuse(
    'checksum_mismatch',
    `The received bytes do not match the ${algorithm} sent with them, so none of them are stored. Send them again`,
  );
