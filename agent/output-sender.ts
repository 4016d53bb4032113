import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { type CheckpointManifest, manifestName } from '../protocol/artifact.ts';
import { type Content, digestOf } from './file-digest.ts';
import type { Found, Output } from './outputs.ts';
import { reasonOf } from './start-failure.ts';
import { isGone, uploadBytes, type UploadEnd, uploadFile, type UploadParts } from './upload.ts';

export interface SenderParts extends UploadParts {
  /** The folder of outputs. */
  readonly root: string;
}

/** `there`: all of it was. */
export type BringEnd = UploadEnd | { readonly kind: 'there' };

export interface Sender {
  bring(output: Output): Promise<BringEnd>;
}

/** Sends what is not there yet; `there` has the digests of what is. */
export function createSender(there: Map<string, string>, parts: SenderParts): Sender {
  const { root, signal } = parts;
  const digests = new Map<string, Content & Found>();
  let sent = 0;

  const contentOf = async (key: string, found: Found): Promise<Content> => {
    const known = digests.get(key);
    if (known?.bytes === found.bytes && known.changedAt === found.changedAt) return known;
    const content = { ...found, sha256: await digestOf(join(root, key), signal) };
    digests.set(key, content);
    return content;
  };

  /** The trainer may have uploaded it since the files were listed. */
  const isThere = async (key: string, { sha256 }: Content): Promise<boolean> => {
    const answer = await parts.storage.progress(key, signal);
    return answer.ok && answer.value?.sha256 === sha256;
  };

  const bringFile = async (key: string, found: Found): Promise<UploadEnd | Content> => {
    try {
      const content = await contentOf(key, found);
      if (there.get(key) === content.sha256) return content;
      if (await isThere(key, content)) {
        there.set(key, content.sha256);
        return content;
      }
      const end = await uploadFile({ ...found, ...content, key, path: join(root, key) }, parts);
      if (end.kind === 'changed') digests.delete(key);
      if (end.kind !== 'brought') return end;
      there.set(key, content.sha256);
      sent += 1;
      return content;
    } catch (cause) {
      if (signal.aborted) return { kind: 'aborted' };
      return isGone(cause) ? { kind: 'changed' } : { kind: 'refused', why: reasonOf(cause) };
    }
  };

  /** From memory: the folder is its trainer's. */
  const bringManifest = async (name: string, files: CheckpointManifest['files']): Promise<BringEnd> => {
    const key = `${name}/${manifestName}`;
    const bytes = Buffer.from(JSON.stringify({ files } satisfies CheckpointManifest));
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    if (there.get(key) === sha256) return { kind: 'there' };
    const end = await uploadBytes(key, bytes, parts);
    if (end.kind === 'brought') there.set(key, sha256);
    return end;
  };

  return {
    async bring({ name, files, isFolder }) {
      const before = sent;
      const listed: CheckpointManifest['files'] = [];
      for (const [key, found] of files) {
        const end = await bringFile(key, found);
        if ('kind' in end) return end;
        listed.push({ path: key.slice(name.length + 1), bytes: end.bytes, sha256: end.sha256 });
      }
      const last = isFolder ? await bringManifest(name, listed) : { kind: 'there' as const };
      return last.kind === 'there' && sent > before ? { kind: 'brought' } : last;
    },
  };
}
