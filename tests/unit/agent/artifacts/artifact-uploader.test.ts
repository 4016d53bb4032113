import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  type ArtifactUploader,
  type ArtifactUploaderDeps,
  createArtifactUploader,
} from '../../../../agent/artifacts/artifact-uploader.ts';
import { CheckpointManifest } from '../../../../protocol/artifact.ts';
import { createNotices } from '../../../support/notices.ts';
import { tempFolder } from '../builders.ts';
import {
  createInstantClock,
  createStorageServer,
  type InjectedFault,
  proxyAnswerOf,
  refusalOf,
  sha256Of,
  type StorageServer,
} from '../storage-server.ts';

interface UploaderFixture extends ArtifactUploader {
  readonly server: StorageServer;
  readonly logged: readonly string[];
  write(path: string, text: string): void;
  remove(path: string): void;
  /** Resolves when this file has been sent this number of times. */
  sent(key: string, times?: number): Promise<unknown>;
  /** Resolves when this call has been made this number of times. */
  called(call: string, times: number): Promise<unknown>;
  /** The keys of the sent files, in order. */
  sentKeys(): readonly string[];
}

function startUploader(
  server = createStorageServer(),
  options: Partial<ArtifactUploaderDeps> & { readonly files?: Record<string, string> } = {},
): UploaderFixture {
  const root = tempFolder();
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  for (const [path, text] of Object.entries(options.files ?? {})) write(path, text);
  const logged: string[] = [];
  const notices = createNotices();
  server.onCall = notices.changed;
  const uploader = createArtifactUploader({
    storage: server.storage,
    clock: createInstantClock(),
    random: () => 0,
    signal: new AbortController().signal,
    root,
    images: null,
    which: 'all',
    startedAt: null,
    log: message => void logged.push(message),
    ...options,
  });
  onTestFinished(async () => {
    uploader.stop();
    await uploader.done;
  });
  // The server records each upload as `PUT key OFFSET`.
  const sentKeys = () =>
    server.calls.filter(call => call.startsWith('PUT')).map(call => call.replace(/^PUT (.+) \d+$/, '$1'));
  return {
    ...uploader,
    server,
    logged,
    write,
    remove: path => rmSync(join(root, path), { recursive: true }),
    sentKeys,
    called: (call, times) =>
      notices.waitFor(
        `${call} for the ${times}th time`,
        () => server.calls.filter(each => each === call).length >= times,
      ),
    sent: (key, times = 1) =>
      notices.waitFor(
        `${key} for the ${times}th time`,
        () => sentKeys().filter(sent => sent === key).length >= times,
      ),
  };
}
const textOf = ({ files }: StorageServer, key: string): string | undefined => files.get(key)?.toString();

describe('outputs of a trainer', () => {
  it('uploads outputs while the trainer runs, checkpoints first, and changed files again', async () => {
    const uploader = startUploader();
    for (const name of ['notes.txt', 'a.png', 'checkpoint-1.bin']) uploader.write(name, name);
    await uploader.sent('notes.txt');
    expect(uploader.sentKeys()).toEqual(['checkpoint-1.bin', 'a.png', 'notes.txt']);
    expect(uploader.logged).toEqual(['Uploaded checkpoint-1.bin (16 bytes)']);
    uploader.write('a.png', 'another one');
    await uploader.sent('a.png', 2);
    uploader.write('last.png', 'x');
    uploader.finish('completed');
    expect(await uploader.done).toBe(true);
    expect(textOf(uploader.server, 'a.png')).toBe('another one');
    expect(uploader.sentKeys().slice(3)).toEqual(['a.png', 'last.png']);
  });

  it('skips a file that the trainer has uploaded itself, unless the contents differ', async () => {
    const uploader = startUploader();
    uploader.write('a.png', 'a');
    await uploader.sent('a.png');
    uploader.server.files.set('b.png', Buffer.from('b'));
    uploader.server.files.set('c.png', Buffer.from('another one'));
    for (const name of ['b.png', 'c.png', 'notes.txt']) uploader.write(name, name.slice(0, 1));
    // Notes are uploaded after images, so the image upload ends before the notes arrive.
    await uploader.sent('notes.txt');
    expect(uploader.sentKeys()).toEqual(['a.png', 'c.png', 'notes.txt']);
    uploader.finish('completed');
    expect(await uploader.done).toBe(true);
  });

  it('uploads a checkpoint folder before its manifest, and writes nothing into the folder', async () => {
    const files = { 'checkpoint-2/b': 'bb', 'checkpoint-2/a/c': 'c' };
    const uploader = startUploader(createStorageServer(), { files });
    uploader.finish('completed');
    expect(await uploader.done).toBe(true);
    // The files of a checkpoint upload concurrently and finish in any order.
    const sent = uploader.sentKeys();
    expect(sent.slice(0, -1).toSorted()).toEqual(['checkpoint-2/a/c', 'checkpoint-2/b']);
    expect(sent.at(-1)).toBe('checkpoint-2/checkpoint-manifest.json');
    const manifest = CheckpointManifest.parse(
      JSON.parse(textOf(uploader.server, 'checkpoint-2/checkpoint-manifest.json') ?? ''),
    );
    expect(manifest.files).toEqual([
      { path: 'a/c', bytes: 1, sha256: sha256Of('c') },
      { path: 'b', bytes: 2, sha256: sha256Of('bb') },
    ]);
  });

  it('skips files that the server already has, and checkpoints older than the newest stored checkpoint', async () => {
    const files = {
      'checkpoint-1.bin': 'old',
      'checkpoint-2.bin': 'new',
      'a.png': 'here',
      'b.png': 'changed',
    };
    const server = createStorageServer({ 'checkpoint-2.bin': 'new', 'a.png': 'here', 'b.png': 'before' });
    const uploader = startUploader(server, { files });
    uploader.finish('completed');
    await uploader.done;
    expect(uploader.sentKeys()).toEqual(['b.png']);
    expect(server.calls.filter(call => call === 'LIST')).toHaveLength(1);
    expect(uploader.logged).toEqual([
      expect.stringContaining('checkpoint-1.bin (older than the newest checkpoint of the job on the server)'),
    ]);
  });

  it('names only some of the skipped older checkpoints in the log, and none that the server has', async () => {
    const files = Object.fromEntries([1, 2, 3, 4, 5, 6, 7, 8].map(n => [`checkpoint-${n}.bin`, `${n}`]));
    const server = createStorageServer({ 'checkpoint-8.bin': '8', 'checkpoint-7.bin': '7' });
    const uploader = startUploader(server, { files });
    uploader.finish('completed');
    await uploader.done;
    expect(uploader.sentKeys()).toEqual([]);
    expect(uploader.logged).toEqual([expect.stringMatching(/checkpoint-\d\.bin and 1 more \(older/)]);
    expect(uploader.logged[0]).not.toMatch(/checkpoint-[78]\.bin/);
  });

  it('ignores a checkpoint from before the attempt, unless the trainer writes it again', async () => {
    const uploader = startUploader(createStorageServer(), {
      startedAt: Date.now() + 10_000,
      files: { 'checkpoint-3.bin': 'half', 'a.png': 'a' },
    });
    await uploader.sent('a.png');
    uploader.write('checkpoint-3.bin', 'whole');
    await uploader.sent('checkpoint-3.bin');
    uploader.finish('completed');
    await uploader.done;
    expect(textOf(uploader.server, 'checkpoint-3.bin')).toBe('whole');
    expect(uploader.sentKeys()).toEqual(['a.png', 'checkpoint-3.bin']);
  });

  it('skips a file that the trainer uploaded itself just before its end', async () => {
    const uploader = startUploader();
    uploader.write('a.png', 'a');
    await uploader.sent('a.png');
    uploader.write('result.json', '{}');
    uploader.server.files.set('result.json', Buffer.from('{}'));
    uploader.finish('completed');
    await uploader.done;
    expect(uploader.sentKeys()).toEqual(['a.png']);
  });

  it('uploads only checkpoints with --upload checkpoints, and nothing if there are no outputs', async () => {
    const uploader = startUploader(createStorageServer(), {
      which: 'checkpoints',
      files: { 'a.png': 'a', 'checkpoint-1.bin': 'x' },
    });
    uploader.finish('completed');
    await uploader.done;
    expect(uploader.sentKeys()).toEqual(['checkpoint-1.bin']);
    const idle = startUploader();
    idle.finish('completed');
    expect(await idle.done).toBe(true);
    expect(idle.server.calls).toEqual(['OUTSTANDING 0']);
  });

  it('ignores outputs that are removed before their upload', async () => {
    const uploader = startUploader(createStorageServer(), {
      files: { 'checkpoint-1/a': 'a', 'checkpoint-1/b': 'b', 'c.png': 'c' },
    });
    const remove = (call: string): void => {
      if (call === 'HEAD checkpoint-1/a') uploader.remove('checkpoint-1');
    };
    const { onCall } = uploader.server;
    uploader.server.onCall = call => {
      remove(call);
      onCall(call);
    };
    uploader.finish('completed');
    expect(await uploader.done).toBe(true);
    expect(uploader.sentKeys()).toEqual(['c.png']);
    expect(uploader.logged).toEqual([]);
  });
});

describe('uploads to a failing server', () => {
  it('retries while the server does not answer', async () => {
    const uploader = startUploader(createStorageServer(), { files: { a: 'a' } });
    const release = uploader.server.failAll('', refusalOf(503));
    await uploader.called('LIST', 3);
    release();
    uploader.finish('completed');
    expect(await uploader.done).toBe(true);
    expect(textOf(uploader.server, 'a')).toBe('a');
  });

  it('logs once that the server has no room for a file, uploads other files, and retries the file', async () => {
    const server = createStorageServer();
    const release = server.failAll('PUT large', refusalOf(413));
    const uploader = startUploader(server, { files: { 'large.png': 'large', 'small.png': 'small' } });
    await uploader.sent('small.png');
    await uploader.sent('large.png', 2);
    expect(uploader.logged).toEqual(['large.png is not uploaded: refused with 413']);
    release();
    await uploader.sent('large.png', 3);
    uploader.finish('completed');
    expect(await uploader.done).toBe(true);
    expect([...server.files.keys()].toSorted()).toEqual(['large.png', 'small.png']);
  });

  it('reports outstanding files after a completed job when the server has no room, and uploads the files later', async () => {
    const server = createStorageServer();
    const release = server.failAll('PUT a.png', refusalOf(507));
    const uploader = startUploader(server, { files: { 'a.png': 'four', 'b.png': 'b' } });
    uploader.finish('completed');
    await uploader.called('OUTSTANDING 1', 1);
    expect(server.outstanding).toEqual({ files: 1, bytes: 4, reason: 'refused with 507' });
    await uploader.sent('a.png', 4);
    release();
    expect(await uploader.done).toBe(true);
    expect(textOf(server, 'a.png')).toBe('four');
    expect(server.calls.filter(call => call.startsWith('OUTSTANDING'))).toEqual([
      'OUTSTANDING 1',
      'OUTSTANDING 0',
    ]);
  });

  it.each([413, 502, 503, 504])(
    'reports outstanding files when a proxy answers uploads with %i, and uploads the files later',
    async status => {
      const server = createStorageServer();
      const release = server.failAll('PUT a.png', proxyAnswerOf(status));
      const uploader = startUploader(server, { files: { 'a.png': 'four', 'b.png': 'b' } });
      uploader.finish('completed');
      await uploader.called('OUTSTANDING 1', 1);
      expect(server.outstanding).toEqual({
        files: 1,
        bytes: 4,
        reason: expect.stringMatching(
          new RegExp(`^A proxy between this worker and the server .* an upload of 4 bytes \\(${status}\\): `),
        ) as unknown,
      });
      expect(textOf(server, 'b.png')).toBe('b');
      release();
      expect(await uploader.done).toBe(true);
      expect(textOf(server, 'a.png')).toBe('four');
      expect(server.outstanding).toMatchObject({ files: 0 });
    },
  );

  it('retries, while the trainer runs, a file that a proxy has refused', async () => {
    const server = createStorageServer();
    const release = server.failAll('PUT a.png', proxyAnswerOf(413));
    const uploader = startUploader(server, { files: { 'a.png': 'a' } });
    await uploader.sent('a.png', 2);
    release();
    await uploader.sent('a.png', 3);
    uploader.finish('completed');
    expect(await uploader.done).toBe(true);
    expect(textOf(server, 'a.png')).toBe('a');
  });

  it.each(['LIST', 'PUT', 'OUTSTANDING'])(
    'retries the call %s while the server answers 401 after a completed attempt, and then uploads everything',
    async call => {
      const server = createStorageServer();
      const release = server.failAll(call, refusalOf(401, 'upload_token_over'));
      const uploader = startUploader(server, { files: { a: 'a' } });
      uploader.finish('completed');
      const failingCall = { LIST: 'LIST', PUT: 'PUT a 0', OUTSTANDING: 'OUTSTANDING 0' }[call] ?? '';
      await uploader.called(failingCall, 4);
      release();
      expect(await uploader.done).toBe(true);
      expect(textOf(server, 'a')).toBe('a');
    },
  );

  it.each<[string, InjectedFault]>([
    ['LIST', refusalOf(401, 'uploads_closed')],
    ['PUT', refusalOf(401, 'uploads_closed')],
    ['LIST', refusalOf(403)],
  ])('stops without a retry when the server closes the uploads (call %s: %j)', async (call, fault) => {
    const server = createStorageServer();
    server.failAll(call, fault);
    const uploader = startUploader(server, { files: { a: 'a' } });
    uploader.finish('completed');
    expect(await uploader.done).toBe(true);
    expect(server.files.size).toBe(0);
    expect(server.calls.filter(each => each.startsWith(call))).toHaveLength(1);
  });

  it('stops retrying outstanding files when the server closes the uploads', async () => {
    const server = createStorageServer();
    server.failAll('PUT', refusalOf(413));
    const uploader = startUploader(server, { files: { a: 'a' } });
    uploader.finish('completed');
    await uploader.called('OUTSTANDING 1', 1);
    server.failFirst('PUT', refusalOf(401, 'uploads_closed'));
    expect(await uploader.done).toBe(true);
  });

  it('uploads files to an older server that has no route for outstanding files', async () => {
    const server = createStorageServer();
    server.failAll('OUTSTANDING', refusalOf(404, 'route_not_found'));
    const uploader = startUploader(server, { files: { a: 'a' } });
    uploader.finish('completed');
    expect(await uploader.done).toBe(true);
    expect(textOf(server, 'a')).toBe('a');
  });

  it('tries only once to upload the checkpoints of a preempted attempt', async () => {
    const server = createStorageServer();
    server.failAll('PUT', refusalOf(401, 'upload_token_over'));
    const uploader = startUploader(server, { files: { 'a.png': 'a', 'checkpoint-1.bin': 'x' } });
    uploader.finish('preempted');
    expect(await uploader.done).toBe(true);
    expect(uploader.sentKeys()).toEqual(['checkpoint-1.bin']);
    expect(server.outstanding).toBeNull();
  });

  it('uploads refused files when the server re-adopts the attempt', async () => {
    const server = createStorageServer();
    const release = server.failAll('PUT', refusalOf(401, 'upload_token_over'));
    const uploader = startUploader(server, { files: { 'a.png': 'a' } });
    await uploader.sent('a.png');
    release();
    await uploader.sent('a.png', 2);
    uploader.finish('completed');
    expect(await uploader.done).toBe(true);
    expect(textOf(server, 'a.png')).toBe('a');
    expect(uploader.logged).toEqual([]);
  });
});

describe('images of event files', () => {
  /** A source of two images. Scan 1 finds the first image, and scan number `scans` finds the second. */
  const createImages = (scans: number) => {
    const root = tempFolder();
    const calls = { count: 0 };
    const scan = async (): Promise<boolean> => {
      calls.count += 1;
      mkdirSync(join(root, 'images'), { recursive: true });
      if (calls.count === 1) writeFileSync(join(root, 'images', '1.png'), '1');
      if (calls.count === scans) writeFileSync(join(root, 'images', '2.png'), '2');
      return calls.count < scans;
    };
    return { root, calls, scan };
  };

  it('uploads images of event files and other outputs before it reports that no files are outstanding', async () => {
    const images = createImages(20);
    const uploader = startUploader(createStorageServer(), { images, files: { 'a.png': 'a' } });
    uploader.finish('completed');
    expect(await uploader.done).toBe(true);
    expect([...uploader.server.files.keys()].toSorted()).toEqual(['a.png', 'images/1.png', 'images/2.png']);
    expect(uploader.server.calls.at(-1)).toBe('OUTSTANDING 0');
  });

  it('prefers a file of the trainer over an image with the same key', async () => {
    const uploader = startUploader(createStorageServer(), {
      images: createImages(2),
      files: { 'images/1.png': 'own' },
    });
    uploader.finish('completed');
    expect(await uploader.done).toBe(true);
    expect(textOf(uploader.server, 'images/1.png')).toBe('own');
    expect(textOf(uploader.server, 'images/2.png')).toBe('2');
  });

  it('reads no images from event files when only checkpoints are uploaded', async () => {
    const images = createImages(1);
    const uploader = startUploader(createStorageServer(), {
      images,
      which: 'checkpoints',
      files: { 'checkpoint-1.bin': 'x' },
    });
    uploader.finish('completed');
    expect(await uploader.done).toBe(true);
    expect(images.calls.count).toBe(0);
    expect(uploader.sentKeys()).toEqual(['checkpoint-1.bin']);
  });
});

it('resolves done with false when the agent leaves, and with true when the uploads are stopped', async () => {
  const ended = new AbortController();
  const leaving = startUploader(createStorageServer(), { signal: ended.signal, files: { a: 'a' } });
  ended.abort();
  expect(await leaving.done).toBe(false);
  const stopped = startUploader(createStorageServer(), { files: { a: 'a' } });
  stopped.stop();
  expect(await stopped.done).toBe(true);
});
