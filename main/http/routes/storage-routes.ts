import { posix } from 'node:path';
import type { Response } from 'express';
import { artifactsApi } from '../../../protocol/artifacts-api.ts';
import { accept, type Outcome, refuse } from '../../../protocol/problem.ts';
import { commonBucket, dataBucket, inputsBucket, storageApi } from '../../../protocol/storage-api.ts';
import type { ContentFiles } from '../../../datasets/content-files.ts';
import type { Orchestrator, Uploader } from '../../orchestrator/index.ts';
import type { Artifact, ArtifactFiles, StoredContent } from '../../orchestrator/ports/index.ts';
import { actorOf } from './admin-routes.ts';
import { sendProblem } from '../listener/answer.ts';
import { onlyUserOf, uploaderBehind } from '../auth/auth.ts';
import type { Router } from './route.ts';
import type { TransferHeap } from '../listener/transfer-heap.ts';
import { proceed } from '../listener/request-body.ts';
import type { UploadHandler } from '../uploads/upload-handler.ts';
import { planUpload } from '../uploads/upload-plan.ts';
import type { RequestTracker } from '../listener/connections.ts';

export interface StorageDeps {
  readonly orchestrator: Orchestrator;
  readonly handler: UploadHandler;
  readonly files: ArtifactFiles;
  readonly contents: ContentFiles;
  readonly requests: RequestTracker;
  readonly heap: TransferHeap;
}

/** Page size of the list for trainers, the same as in S3. */
const pageOfTrainers = 1_000;

/** Mounts the calls of trainers: uploads, downloads and lists. The upload token of an attempt authenticates them. */
export function mountStorageRoutes(router: Router, deps: StorageDeps): void {
  mountPut(router, deps);
  const { orchestrator, handler, files, contents, heap } = deps;
  router.write(storageApi.get, async ({ params: { bucket, key }, caller, request }, response) => {
    const uploader = uploaderBehind(caller);
    const sending = { response, heap };
    if (bucket === dataBucket) {
      const content = orchestrator.files.contentOfJob(uploader.jobId, key);
      if (content.ok) sendContent(sending, contents, content.value);
      return content.ok ? accept(undefined) : content;
    }
    if (bucket === inputsBucket) {
      const input = orchestrator.files.inputOfAttempt(uploader, key);
      if (input.ok) sendArtifact(sending, files, input.value);
      return input.ok ? accept(undefined) : input;
    }
    const keyOfFile = keyIn(bucket, key, uploader);
    if (!keyOfFile.ok) return keyOfFile;
    if (request.method === 'HEAD') {
      const progress = await handler.progressOf(uploader, keyOfFile.value);
      if (progress !== null) {
        setUploadHeaders(response, progress);
        response.status(200).end();
        return accept(undefined);
      }
    }
    const artifact = orchestrator.files.artifact(uploader.jobId, keyOfFile.value);
    if (!artifact.ok) return artifact;
    setUploadHeaders(response, { offset: artifact.value.bytes, total: artifact.value.bytes });
    sendArtifact(sending, files, artifact.value);
    return accept(undefined);
  });
  router.answer(storageApi.outstanding, async ({ body, caller }) => {
    const report = { files: body.files, bytes: body.bytes, reason: body.reason ?? null };
    const outcome = await orchestrator.files.reportOutstanding(uploaderBehind(caller), report);
    return outcome.ok ? accept({ success: true as const }) : outcome;
  });
  router.answer(storageApi.list, ({ params: { bucket }, query, caller }) => {
    const uploader = uploaderBehind(caller);
    const checked = ownBucket(bucket, uploader);
    if (!checked.ok) return checked;
    const page = orchestrator.files.listArtifacts(uploader.jobId, query.cursor ?? null, pageOfTrainers);
    if (!page.ok) return page;
    const { artifacts, next } = page.value;
    return accept({
      Name: bucket,
      Contents: artifacts.map(each => ({
        Key: each.key,
        Size: each.bytes,
        LastModified: Date.parse(each.created_at) / 1000,
        ETag: `"${each.sha256}"`,
      })),
      IsTruncated: next !== null,
      NextCursor: next === null ? null : String(next),
    });
  });
}

function mountPut(router: Router, { handler, requests, heap }: StorageDeps): void {
  router.write(storageApi.put, async ({ params: { bucket, key }, caller, request }, response) => {
    const uploader = uploaderBehind(caller);
    const keyOfFile = keyIn(bucket, key, uploader);
    if (!keyOfFile.ok) return keyOfFile;
    const plan = planUpload(request.headers);
    if (!plan.ok) return plan;
    const onAccepted = (): void => {
      requests.liftBodyTimeout(request);
      heap.track(response);
      proceed(request, response);
    };
    const delivery = { uploader, key: keyOfFile.value, plan: plan.value, request, onAccepted };
    const outcome = await handler.receive(delivery);
    if (!outcome.ok) {
      if (outcome.refusal.code === 'upload_offset')
        setUploadHeaders(response, await handler.progressOf(uploader, keyOfFile.value));
      return outcome;
    }
    if (outcome.value === null) response.destroy();
    else if ('offset' in outcome.value) {
      setUploadHeaders(response, outcome.value);
      response.status(308).end();
    } else {
      const ETag = `"${outcome.value.sha256}"`;
      response.set('ETag', ETag).json({ ETag, Key: key, Bucket: bucket, artifact: outcome.value });
    }
    return accept(undefined);
  });
}

/** Mounts the calls for artifacts that people and scripts use. */
export function mountArtifactRoutes(
  router: Router,
  { orchestrator, files, heap }: Pick<StorageDeps, 'orchestrator' | 'files' | 'heap'>,
): void {
  router.answer(artifactsApi.list, ({ params, query: { cursor, limit } }) => {
    const page = orchestrator.files.listArtifacts(params.id, cursor ?? null, limit);
    if (!page.ok) return page;
    const { artifacts, count, bytes, next } = page.value;
    return accept({
      artifacts: [...artifacts],
      count,
      total_bytes: bytes,
      next_cursor: next === null ? null : String(next),
    });
  });
  router.answer(artifactsApi.samples, ({ query, caller }) => {
    const page = orchestrator.files.listSamples({
      jobs: query.job ?? [],
      user: onlyUserOf(caller),
      fromStep: query.from_step ?? null,
      toStep: query.to_step ?? null,
      before: query.cursor ?? null,
      limit: query.limit,
    });
    const { samples, next } = page;
    return accept({ samples: [...samples], next_cursor: next === null ? null : String(next) });
  });
  router.answer(artifactsApi.checkpoints, ({ params: { id } }) => {
    const checkpoints = orchestrator.files.listCheckpoints(id);
    return checkpoints.ok ? accept({ checkpoints: [...checkpoints.value] }) : checkpoints;
  });
  router.stream(artifactsApi.download, ({ params: { id, key } }, response) => {
    const artifact = orchestrator.files.artifact(id, key);
    if (artifact.ok) sendArtifact({ response, heap }, files, artifact.value);
    return artifact.ok ? accept(undefined) : artifact;
  });
  router.answer(artifactsApi.giveUp, async ({ params: { id }, caller, request }) => {
    const outcome = await orchestrator.files.giveUpOutstanding(id, actorOf(caller, request));
    return outcome.ok ? accept({ success: true as const, job_id: id }) : outcome;
  });
  router.answer(artifactsApi.remove, async ({ params: { id, key }, caller, request }) => {
    const outcome = await orchestrator.files.removeArtifact(id, key, actorOf(caller, request));
    return outcome.ok ? accept({ success: true as const, job_id: id, key }) : outcome;
  });
}

const ownBucket = (bucket: string, { jobId }: Uploader): Outcome<unknown> =>
  bucket === commonBucket || bucket === jobId
    ? accept(bucket)
    : refuse(
        'not_your_job',
        `The token is that of job ${jobId}: send its files to "${commonBucket}", or to "${jobId}"`,
      );

/**
 * Returns the key of a file in the job. Removes the job id that SimpleTuner's trainers put before their keys in the common
 * bucket.
 */
function keyIn(bucket: string, key: string, uploader: Uploader): Outcome<string> {
  const checked = ownBucket(bucket, uploader);
  if (!checked.ok) return checked;
  const prefix = `${uploader.jobId}/`;
  return accept(bucket === commonBucket && key.startsWith(prefix) ? key.slice(prefix.length) : key);
}

/**
 * Sets the headers that report the progress of an upload: those of the IETF draft on resumable uploads, and `Range`, which
 * clients of other services expect.
 */
function setUploadHeaders(
  response: Response,
  progress: { readonly offset: number; readonly total: number } | null,
): void {
  const { offset, total } = progress ?? { offset: 0, total: null };
  response.set({
    'Upload-Offset': String(offset),
    'Upload-Complete': offset === total ? '?1' : '?0',
    'Cache-Control': 'no-store',
    ...(offset > 0 && offset !== total && { Range: `bytes=0-${offset - 1}` }),
    ...(total !== null && { 'Upload-Length': String(total) }),
  });
}

interface Sending {
  readonly response: Response;
  readonly heap: TransferHeap;
}

/**
 * Sends an artifact as an attachment, so that browsers never display a trainer's file as a page of this site. Ranges and
 * conditional requests follow RFC 9110.
 */
function sendArtifact(sending: Sending, files: ArtifactFiles, artifact: Artifact): void {
  const { response } = sending;
  const { jobId, file, key, sha256 } = artifact;
  response.attachment(posix.basename(key));
  response.set('Last-Modified', new Date(artifact.createdAt).toUTCString());
  sendStored(sending, files.pathOf(jobId, file), sha256, key);
}

const sendContent = (sending: Sending, contents: ContentFiles, { sha256 }: StoredContent): void =>
  sendStored(sending, contents.pathOf(sha256), sha256, sha256);

function sendStored({ response, heap }: Sending, path: string, sha256: string, name: string): void {
  heap.track(response);
  response.set({
    'Content-Type': 'application/octet-stream',
    'Content-Security-Policy': "default-src 'none'; sandbox",
    'Cache-Control': 'private, no-cache',
    ETag: `"${sha256}"`,
  });
  const options = {
    etag: false,
    lastModified: false,
    cacheControl: false,
    dotfiles: 'allow',
    // Bytes per read, passed to `createReadStream`. With its default of 64 KiB, sending takes twice as long.
    highWaterMark: 262_144,
  } as const;
  response.sendFile(path, options, (cause?: Error) => {
    if (cause === undefined || response.headersSent) return;
    for (const header of ['Content-Disposition', 'ETag', 'Last-Modified']) response.removeHeader(header);
    sendProblem(response, refusalForSend(cause, name).refusal);
  });
}

/**
 * Returns the refusal for a failed `sendFile`. If the file is missing although its row exists, the database was restored from a
 * backup without the files.
 */
const refusalForSend = (cause: Error, key: string) =>
  'status' in cause && cause.status === 416
    ? refuse('invalid_request', 'Range: there are not so many bytes')
    : refuse('artifact_not_found', `The file ${key} is not on the disk any more`);
