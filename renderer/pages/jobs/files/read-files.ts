import { type ArtifactView, type CheckpointView, checkpointOf } from '../../../../protocol/artifact.ts';
import { artifactsApi } from '../../../../protocol/artifacts-api.ts';
import type { CallFailure, Client } from '../../../../protocol/client.ts';
import type { JobId } from '../../../../protocol/ids.ts';
import { useCallback, useEffect, useState } from 'react';
import type { JobDetail } from '../../../../protocol/job.ts';
import { usePanel } from '../../../app/context.ts';
import { useReads } from '../details/job-reads.ts';

const pageSize = 500;

export interface Files {
  /** Newest first. */
  readonly files: readonly ArtifactView[];
  /** Totals of all files, including those that are not loaded. */
  readonly count: number;
  readonly bytes: number;
  /** True if there are older files to load. */
  readonly hasMore: boolean;
  readonly checkpoints: readonly CheckpointView[];
}

type Read<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly failure: CallFailure };

/** Reads up to `pages` pages of files, and the list of all checkpoints. */
async function readFiles(
  client: Client,
  id: JobId,
  pages: number,
  signal: AbortSignal,
): Promise<Read<Files>> {
  const [checkpoints, listed] = await Promise.all([
    client.call(artifactsApi.checkpoints, { params: { id }, signal }),
    readPages(client, id, signal, (_, read) => read >= pages),
  ]);
  if (!listed.ok) return listed;
  if (!checkpoints.ok && !isUnknownCall(checkpoints.failure)) return checkpoints;
  const { files, count, bytes, hasMore } = listed.value;
  return {
    ok: true,
    value: {
      files,
      count,
      bytes,
      hasMore,
      checkpoints: checkpoints.ok ? checkpoints.value.checkpoints : [],
    },
  };
}

/** Reads all files of a checkpoint, from all pages. */
export async function readFilesOf(
  client: Client,
  id: JobId,
  { name, files: fileCount }: Pick<CheckpointView, 'name' | 'files'>,
  signal: AbortSignal,
): Promise<Read<readonly ArtifactView[]>> {
  // Leave out samples: they may be in the checkpoint's folder without being part of the checkpoint.
  const ofCheckpoint = (files: readonly ArtifactView[]) =>
    files.filter(({ key, kind }) => kind !== 'sample_image' && checkpointOf(key)?.name === name);
  const read = await readPages(client, id, signal, files => ofCheckpoint(files).length >= fileCount);
  return read.ok ? { ok: true, value: ofCheckpoint(read.value.files) } : read;
}

/** Reads pages in order until there are no more, or until `isEnough` returns true. */
async function readPages(
  client: Client,
  id: JobId,
  signal: AbortSignal,
  isEnough: (files: readonly ArtifactView[], pages: number) => boolean,
): Promise<Read<Omit<Files, 'checkpoints'>>> {
  const files: ArtifactView[] = [];
  const query: { limit: number; cursor?: string } = { limit: pageSize };
  for (let pages = 1; ; pages += 1) {
    const answer = await client.call(artifactsApi.list, { params: { id }, query, signal });
    if (!answer.ok) return answer;
    const { artifacts, count, total_bytes: bytes, next_cursor: next } = answer.value;
    files.push(...artifacts);
    if (next === null || isEnough(files, pages))
      return { ok: true, value: { files, count, bytes, hasMore: next !== null } };
    query.cursor = next;
  }
}

/** Returns true when the server is too old to list checkpoints. */
const isUnknownCall = (failure: CallFailure): boolean =>
  failure.kind === 'problem' && failure.problem.code === 'route_not_found';

interface FilesRead {
  /** Null before the first answer. */
  readonly read: Files | null;
  /** Failure of the last request; the previous data stays. */
  readonly failure: CallFailure | null;
  readonly reload: () => void;
  readonly more: () => void;
}

export function useFiles(job: JobDetail): FilesRead {
  const { client } = usePanel();
  const [read, setRead] = useState<Files | null>(null);
  const [failure, setFailure] = useState<CallFailure | null>(null);
  const [pages, setPages] = useState(1);
  const { reads, reload } = useReads(job);
  const { id } = job;
  useEffect(() => {
    const controller = new AbortController();
    void readFiles(client, id, pages, controller.signal).then(result => {
      if (controller.signal.aborted) return;
      if (result.ok) setRead(result.value);
      setFailure(result.ok ? null : result.failure);
    });
    return () => controller.abort();
  }, [client, id, pages, reads]);
  const more = useCallback(() => setPages(was => was + 1), []);
  return { read, failure, reload, more };
}
