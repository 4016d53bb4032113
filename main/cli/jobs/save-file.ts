import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { ArtifactPath, type ArtifactView } from '../../../protocol/artifact.ts';
import { artifactsApi } from '../../../protocol/artifacts-api.ts';
import { type Fetch, piecesOf, urlOf } from '../../../protocol/client.ts';
import { exitCodes, fail } from '../failure.ts';
import { type Download, openDownload } from '../print-download.ts';
import type { Remote } from '../remote.ts';

export interface SaveOptions {
  readonly folder: string;
  /** If true, replaces an existing file with the same name and other content. */
  readonly isOverwriting: boolean;
  /** Called with the number of bytes on disk so far. */
  readonly onBytes: (bytes: number) => void;
}

interface Saved {
  readonly path: string;
  readonly outcome: 'downloaded' | 'already there';
}

type DownloadSource = Pick<Remote, 'connection'> & { readonly fetch: Fetch };

/** A connection without data for this long counts as broken. */
const silenceMs = 60_000;

/**
 * Downloads a file into a folder, under its key. The data goes to a `.part` file next to the target. After a broken connection,
 * the next run continues that file. The `.part` file is renamed once its SHA-256 matches. Failures end the command.
 */
export async function saveFile(
  source: DownloadSource,
  file: ArtifactView,
  options: SaveOptions,
): Promise<Saved> {
  try {
    return await save(source, file, options);
  } catch (cause) {
    // Missing permission, a full disk, or a name that this system does not allow.
    if (cause instanceof Error && 'syscall' in cause)
      return fail(exitCodes.failed, `${file.key}: ${cause.message}`);
    throw cause;
  }
}

async function save(source: DownloadSource, file: ArtifactView, options: SaveOptions): Promise<Saved> {
  const { folder, isOverwriting, onBytes } = options;
  const path = await targetIn(folder, file.key);
  const existing = await kindOf(path);
  if (existing === 'file' && (await sha256Of(path)) === file.sha256) {
    onBytes(file.bytes);
    return { path, outcome: 'already there' };
  }
  if (existing === 'other') fail(exitCodes.conflict, `${path} already exists and is not a file`);
  if (existing === 'file' && !isOverwriting)
    fail(exitCodes.conflict, `${path} already exists with other content. Move it, or use --overwrite`);
  const partPath = partOf(path, file.sha256);
  if ((await kindOf(partPath)) === 'other')
    fail(exitCodes.conflict, `${partPath} already exists and is not a file`);
  const part = await open(partPath, 'a');
  try {
    await fetchRest(source, file, part, onBytes);
    if ((await sha256Of(partPath)) !== file.sha256) {
      await part.truncate(0);
      fail(exitCodes.failed, `The checksum of ${file.key} does not match. Run the command again`);
    }
    await part.sync();
  } finally {
    await part.close();
  }
  await rename(partPath, path);
  return { path, outcome: 'downloaded' };
}

/** Includes a part of the hash in the name, so that a download resumes only for the same content. */
const partOf = (path: string, sha256: string): string => `${path}.${sha256.slice(0, 12)}.part`;

/**
 * Returns the target path and creates its folders. A malicious server cannot choose a name or link that makes the command write
 * outside the folder.
 */
async function targetIn(folder: string, key: string): Promise<string> {
  const parsed = ArtifactPath.safeParse(key);
  if (!parsed.success)
    return fail(
      exitCodes.failed,
      `The orchestrator lists ${JSON.stringify(key)}, which is not a valid file name`,
    );
  const segments = parsed.data.split('/');
  const name = segments.pop() ?? '';
  await mkdir(folder, { recursive: true });
  let path = folder;
  for (const segment of segments) {
    path = join(path, segment);
    await mkdir(path).catch(() => undefined);
    if (!(await lstat(path)).isDirectory())
      fail(exitCodes.conflict, `${path} already exists and is not a folder`);
  }
  return join(path, name);
}

async function kindOf(path: string): Promise<'none' | 'file' | 'other'> {
  const stats = await lstat(path).catch(() => null);
  if (stats === null) return 'none';
  return stats.isFile() ? 'file' : 'other';
}

/** Downloads the bytes that are not on disk yet. */
async function fetchRest(
  source: DownloadSource,
  { job_id: id, key, bytes, sha256 }: ArtifactView,
  part: FileHandle,
  onBytes: (bytes: number) => void,
): Promise<void> {
  let from = (await part.stat()).size;
  if (from > bytes) {
    await part.truncate(0);
    from = 0;
  }
  onBytes(from);
  if (from === bytes) return;
  const controller = new AbortController();
  const silence = setTimeout(() => controller.abort(), silenceMs);
  const etag = `"${sha256}"`;
  const url = urlOf(source.connection().url, artifactsApi.download.path, { id, key: key.split('/') });
  try {
    const headers: Record<string, string> = from > 0 ? { range: `bytes=${from}-`, 'if-range': etag } : {};
    const answer = await openDownload(source, url, { headers, signal: controller.signal });
    if (answer.headers.get('etag') !== etag)
      fail(exitCodes.conflict, `${key} changed during the download. Run the command again`);
    // A server that does not support ranges sends the file from the start.
    if (answer.status !== 206 && from > 0) {
      await part.truncate(0);
      from = 0;
    }
    const bytesOnDisk = await write(answer, part, from, soFar => {
      silence.refresh();
      onBytes(soFar);
    });
    if (bytesOnDisk < bytes) fail(exitCodes.unreachable, brokenText(key));
  } finally {
    clearTimeout(silence);
  }
}

/** Writes the body at the offset `from`. Returns the number of bytes on disk. If the connection breaks, the bytes so far stay. */
async function write(
  { body }: Download,
  part: FileHandle,
  from: number,
  onBytes: (bytes: number) => void,
): Promise<number> {
  let at = from;
  const pieces = piecesOf(body);
  for (;;) {
    const next = await pieces.next().catch(() => null);
    if (next === null || next.done === true) return at;
    await part.writeFile(next.value);
    at += next.value.length;
    onBytes(at);
  }
}

const brokenText = (key: string): string =>
  `Lost the connection to the orchestrator. To resume the download of ${key}, run the command again`;

async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256').setEncoding('hex');
  await pipeline(createReadStream(path), hash);
  return String(hash.read());
}
