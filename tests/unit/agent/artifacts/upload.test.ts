import { appendFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createRunningDigest } from '../../../../agent/files/file-digest.ts';
import { uploadBytes, uploadFile } from '../../../../agent/artifacts/upload.ts';
import { tempFolder, unreachable } from '../builders.ts';
import {
  createInstantClock,
  createStorageServer,
  proxyAnswerOf,
  refusalOf,
  sha256Of,
  type StorageServer,
} from '../storage-server.ts';

/** Sends files of up to 10 bytes as a whole, and larger files in parts of 4 bytes. */
const sizes = { wholeUpTo: 10, part: 4 };
const depsFor = ({ storage }: StorageServer, abort = new AbortController()) => ({
  storage,
  clock: createInstantClock(),
  random: () => 0,
  signal: abort.signal,
  sizes,
});

/** An upload source: a file with this text, and its metadata. */
function sourceOf(text: string) {
  const path = join(tempFolder(), 'file');
  writeFileSync(path, text);
  const { size: bytes, mtimeMs: changedAt } = statSync(path);
  return { key: 'key', path, bytes, changedAt, sha256: sha256Of(text) };
}

describe('uploadFile', () => {
  it.each(['', 'x', '0123456789'])('uploads a file with the content %j', async text => {
    const server = createStorageServer();
    expect(await uploadFile(sourceOf(text), depsFor(server))).toEqual({ kind: 'uploaded' });
    expect(server.files.get('key')?.toString()).toBe(text);
    expect(server.calls).toEqual(['PUT key 0']);
  });

  it('repeats an upload until it succeeds', async () => {
    const server = createStorageServer();
    server.fail('PUT', 'cut', unreachable(), refusalOf(503), refusalOf(429), refusalOf(409));
    expect(await uploadFile(sourceOf('0123'), depsFor(server))).toEqual({ kind: 'uploaded' });
    expect(server.calls).toHaveLength(6);
  });

  it('computes the digest of a large file while uploading, and sends the digest with the last part', async () => {
    const server = createStorageServer();
    const digests: (string | null)[] = [];
    const storage: StorageServer['storage'] = {
      ...server.storage,
      put: (key, upload, signal) => {
        digests.push(upload.sha256);
        return server.storage.put(key, upload, signal);
      },
    };
    const source = sourceOf('abcdefghijklmnop');
    const sha256 = createRunningDigest(source.path);
    expect(await uploadFile({ ...source, sha256 }, { ...depsFor(server), storage })).toEqual({
      kind: 'uploaded',
    });
    expect(digests).toEqual([null, null, null, source.sha256]);
    expect(await sha256.whole(new AbortController().signal)).toBe(source.sha256);
  });

  it('computes the right digest when parts of a large file are sent twice', async () => {
    const server = createStorageServer();
    server.fail('PUT key 4', 'cut', 'cut');
    const source = sourceOf('abcdefghijklmnop');
    const sha256 = createRunningDigest(source.path);
    expect(await uploadFile({ ...source, sha256 }, depsFor(server))).toEqual({ kind: 'uploaded' });
    expect(server.files.get('key')?.toString()).toBe('abcdefghijklmnop');
  });

  it('uploads a large file in parts, and resumes after the stored parts', async () => {
    const server = createStorageServer();
    server.fail('PUT key 4', 'cut', 'cut');
    const text = 'abcdefghijklmnop';
    expect(await uploadFile(sourceOf(text), depsFor(server))).toEqual({ kind: 'uploaded' });
    expect(server.files.get('key')?.toString()).toBe(text);
    expect(server.calls).toEqual([
      'HEAD key',
      'PUT key 0',
      'PUT key 4',
      'HEAD key',
      'PUT key 6',
      'PUT key 10',
      'PUT key 14',
    ]);
  });

  it('skips a large file that the server has, and restarts an upload that began with other content', async () => {
    const text = 'abcdefghijklmnop';
    const complete = createStorageServer({ key: text });
    expect(await uploadFile(sourceOf(text), depsFor(complete))).toEqual({ kind: 'uploaded' });
    expect(complete.calls).toEqual(['HEAD key']);
    const outdated = createStorageServer({ key: 'something else' });
    await uploadFile(sourceOf(text), depsFor(outdated));
    expect(outdated.files.get('key')?.toString()).toBe(text);
    const interrupted = createStorageServer();
    const abort = new AbortController();
    interrupted.onCall = call => {
      if (call === 'PUT key 4') abort.abort();
    };
    expect(await uploadFile(sourceOf('0000111122223333'), depsFor(interrupted, abort))).toEqual({
      kind: 'aborted',
    });
    // The stored first part belongs to another file of the same length. Only the final checksum reveals the mix-up.
    interrupted.onCall = () => {};
    expect(await uploadFile(sourceOf(text), depsFor(interrupted))).toEqual({ kind: 'changed' });
    expect(await uploadFile(sourceOf(text), depsFor(interrupted))).toEqual({ kind: 'uploaded' });
    expect(interrupted.files.get('key')?.toString()).toBe(text);
  });

  it.each([
    [refusalOf(401), { kind: 'over' }],
    [refusalOf(413), { kind: 'no_room', why: 'refused with 413' }],
    [refusalOf(507), { kind: 'no_room', why: 'refused with 507' }],
    [refusalOf(400), { kind: 'refused', why: 'refused with 400' }],
  ])('does not repeat an upload that the server refuses (%j)', async (failure, end) => {
    for (const text of ['small', 'much larger than that']) {
      const server = createStorageServer();
      server.failAll('PUT', failure);
      expect(await uploadFile(sourceOf(text), depsFor(server))).toEqual(end);
    }
  });

  it.each([
    [413, 'refused', 'raise its body size limit'],
    [502, 'could not forward', 'check that the server runs, and that the proxy reaches it'],
    [503, 'could not forward', 'check that the server runs, and that the proxy reaches it'],
    [504, 'ran out of time for', 'raise its timeouts'],
    [403, 'refused', 'check its configuration and its log'],
  ])(
    'postpones a file that a proxy never accepts (%i), and names the remedy',
    async (status, failure, remedy) => {
      const server = createStorageServer();
      server.failAll('PUT', proxyAnswerOf(status));
      expect(await uploadFile(sourceOf('small'), depsFor(server))).toEqual({
        kind: 'no_room',
        why: `A proxy between this worker and the server ${failure} an upload of 5 bytes (${status}): ${remedy} (docs/network.md)`,
      });
      // The upload is not repeated after 413, which is permanent. The other errors are usually temporary.
      expect(server.calls).toHaveLength(status === 413 ? 1 : 6);
    },
  );

  it('names the size of a part when a proxy refuses the parts', async () => {
    const server = createStorageServer();
    server.failAll('PUT', proxyAnswerOf(413));
    expect(await uploadFile(sourceOf('much larger than that'), depsFor(server))).toMatchObject({
      why: expect.stringContaining('an upload of 4 bytes (413)') as unknown,
    });
  });

  it.each(['PUT', 'HEAD'])(
    'repeats a %s call until a proxy accepts it after temporary failures',
    async call => {
      const server = createStorageServer();
      const busy = [502, 503, 504, 429, 502].map(proxyAnswerOf);
      server.fail(call, ...busy);
      const text = 'much larger than that';
      expect(await uploadFile(sourceOf(text), depsFor(server))).toEqual({ kind: 'uploaded' });
      expect(server.files.get('key')?.toString()).toBe(text);
    },
  );

  it('counts failures of a proxy separately for each part', async () => {
    const server = createStorageServer();
    for (const offset of [0, 4, 8]) server.fail(`PUT key ${offset}`, ...[502, 502, 502].map(proxyAnswerOf));
    expect(await uploadFile(sourceOf('abcdefghijkl'), depsFor(server))).toEqual({ kind: 'uploaded' });
  });

  it('postpones a file when a proxy never answers the HEAD call', async () => {
    const server = createStorageServer();
    server.failAll('HEAD', proxyAnswerOf(502));
    expect(await uploadFile(sourceOf('much larger than that'), depsFor(server))).toMatchObject({
      kind: 'no_room',
    });
    expect(server.calls).toHaveLength(6);
  });

  it('reports a file that changes or disappears during the upload as changed', async () => {
    const server = createStorageServer();
    const grown = sourceOf('x');
    server.onCall = () => appendFileSync(grown.path, 'y');
    server.fail('PUT', 'cut');
    expect(await uploadFile(grown, depsFor(server))).toEqual({ kind: 'changed' });
    server.onCall = () => {};
    const gone = sourceOf('x');
    rmSync(gone.path);
    expect(await uploadFile(gone, depsFor(server))).toEqual({ kind: 'changed' });
    const shorter = sourceOf('0123456789');
    writeFileSync(shorter.path, '01');
    expect(await uploadFile(shorter, depsFor(server))).toEqual({ kind: 'changed' });
  });

  it('returns changed or refused for a file that cannot be read', async () => {
    const source = { ...sourceOf('x'), path: tempFolder() };
    expect(await uploadFile(source, depsFor(createStorageServer()))).toMatchObject({
      kind: expect.stringMatching(/changed|refused/) as string,
    });
  });
});

it('uploads bytes from memory in parts, and repeats a failed part', async () => {
  const server = createStorageServer();
  server.fail('PUT key 4', 'cut');
  const bytes = Buffer.from('abcdefghijklmnop');
  expect(await uploadBytes('key', bytes, depsFor(server))).toEqual({ kind: 'uploaded' });
  expect(server.files.get('key')).toEqual(bytes);
});
