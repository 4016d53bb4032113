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
  createHastyClock,
  createShelf,
  type Fate,
  proxyAnswerOf,
  refusalOf,
  sha256Of,
  type Shelf,
} from '../storage-bench.ts';

interface Bench extends ArtifactUploader {
  readonly shelf: Shelf;
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

function openBench(
  shelf = createShelf(),
  parts: Partial<ArtifactUploaderDeps> & { readonly files?: Record<string, string> } = {},
): Bench {
  const root = tempFolder();
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  for (const [path, text] of Object.entries(parts.files ?? {})) write(path, text);
  const logged: string[] = [];
  const notices = createNotices();
  shelf.onCall = notices.changed;
  const uploader = createArtifactUploader({
    storage: shelf.storage,
    clock: createHastyClock(),
    random: () => 0,
    signal: new AbortController().signal,
    root,
    images: null,
    which: 'all',
    startedAt: null,
    log: message => void logged.push(message),
    ...parts,
  });
  onTestFinished(async () => {
    uploader.stop();
    await uploader.done;
  });
  const sentKeys = () =>
    shelf.calls.filter(call => call.startsWith('PUT')).map(call => call.slice(4).replace(/ \d+$/, ''));
  return {
    ...uploader,
    shelf,
    logged,
    write,
    remove: path => rmSync(join(root, path), { recursive: true }),
    sentKeys,
    called: (call, times) =>
      notices.waitFor(
        `${call} for the ${times}th time`,
        () => shelf.calls.filter(made => made === call).length >= times,
      ),
    sent: (key, times = 1) =>
      notices.waitFor(
        `${key} for the ${times}th time`,
        () => sentKeys().filter(sent => sent === key).length >= times,
      ),
  };
}
const textOf = ({ files }: Shelf, key: string): string | undefined => files.get(key)?.toString();

describe('outputs of a trainer', () => {
  it('uploads outputs while the trainer runs, checkpoints first, and changed files again', async () => {
    const bench = openBench();
    for (const name of ['notes.txt', 'a.png', 'checkpoint-1.bin']) bench.write(name, name);
    await bench.sent('notes.txt');
    expect(bench.sentKeys()).toEqual(['checkpoint-1.bin', 'a.png', 'notes.txt']);
    expect(bench.logged).toEqual(['Uploaded checkpoint-1.bin (16 bytes)']);
    bench.write('a.png', 'another one');
    await bench.sent('a.png', 2);
    bench.write('last.png', 'x');
    bench.finish('completed');
    expect(await bench.done).toBe(true);
    expect(textOf(bench.shelf, 'a.png')).toBe('another one');
    expect(bench.sentKeys().slice(3)).toEqual(['a.png', 'last.png']);
  });

  it('skips files that the trainer has uploaded itself meanwhile', async () => {
    const bench = openBench();
    bench.write('a.png', 'a');
    await bench.sent('a.png');
    bench.shelf.files.set('b.png', Buffer.from('b'));
    bench.shelf.files.set('c.png', Buffer.from('another one'));
    for (const name of ['b.png', 'c.png', 'notes.txt']) bench.write(name, name.slice(0, 1));
    // Notes are uploaded after images, so the image has been uploaded by then.
    await bench.sent('notes.txt');
    expect(bench.sentKeys()).toEqual(['a.png', 'c.png', 'notes.txt']);
    bench.finish('completed');
    expect(await bench.done).toBe(true);
  });

  it('uploads a checkpoint folder before its manifest, and writes nothing into the folder', async () => {
    const files = { 'checkpoint-2/b': 'bb', 'checkpoint-2/a/c': 'c' };
    const bench = openBench(createShelf(), { files });
    bench.finish('completed');
    expect(await bench.done).toBe(true);
    // The files of a checkpoint upload concurrently and finish in any order.
    const sent = bench.sentKeys();
    expect(sent.slice(0, -1).toSorted()).toEqual(['checkpoint-2/a/c', 'checkpoint-2/b']);
    expect(sent.at(-1)).toBe('checkpoint-2/checkpoint-manifest.json');
    const manifest = CheckpointManifest.parse(
      JSON.parse(textOf(bench.shelf, 'checkpoint-2/checkpoint-manifest.json') ?? ''),
    );
    expect(manifest.files).toEqual([
      { path: 'a/c', bytes: 1, sha256: sha256Of('c') },
      { path: 'b', bytes: 2, sha256: sha256Of('bb') },
    ]);
  });

  it('skips stored files and checkpoints older than the newest stored one', async () => {
    const files = {
      'checkpoint-1.bin': 'old',
      'checkpoint-2.bin': 'new',
      'a.png': 'here',
      'b.png': 'changed',
    };
    const shelf = createShelf({ 'checkpoint-2.bin': 'new', 'a.png': 'here', 'b.png': 'before' });
    const bench = openBench(shelf, { files });
    bench.finish('completed');
    await bench.done;
    expect(bench.sentKeys()).toEqual(['b.png']);
    expect(shelf.calls.filter(call => call === 'LIST')).toHaveLength(1);
    expect(bench.logged).toEqual([
      expect.stringContaining('checkpoint-1.bin (older than the newest checkpoint of the job on the server)'),
    ]);
  });

  it('reports only a few of the older checkpoints that it skips, if the server lacks them', async () => {
    const files = Object.fromEntries([1, 2, 3, 4, 5, 6, 7, 8].map(n => [`checkpoint-${n}.bin`, `${n}`]));
    const shelf = createShelf({ 'checkpoint-8.bin': '8', 'checkpoint-7.bin': '7' });
    const bench = openBench(shelf, { files });
    bench.finish('completed');
    await bench.done;
    expect(bench.sentKeys()).toEqual([]);
    expect(bench.logged).toEqual([expect.stringMatching(/checkpoint-\d\.bin and 1 more \(older/)]);
    expect(bench.logged[0]).not.toMatch(/checkpoint-[78]\.bin/);
  });

  it('ignores a checkpoint from before the attempt, unless the trainer writes it again', async () => {
    const bench = openBench(createShelf(), {
      startedAt: Date.now() + 10_000,
      files: { 'checkpoint-3.bin': 'half', 'a.png': 'a' },
    });
    await bench.sent('a.png');
    bench.write('checkpoint-3.bin', 'whole');
    await bench.sent('checkpoint-3.bin');
    bench.finish('completed');
    await bench.done;
    expect(textOf(bench.shelf, 'checkpoint-3.bin')).toBe('whole');
    expect(bench.sentKeys()).toEqual(['a.png', 'checkpoint-3.bin']);
  });

  it('skips a file that the trainer uploaded itself at its end', async () => {
    const bench = openBench();
    bench.write('a.png', 'a');
    await bench.sent('a.png');
    bench.write('result.json', '{}');
    bench.shelf.files.set('result.json', Buffer.from('{}'));
    bench.finish('completed');
    await bench.done;
    expect(bench.sentKeys()).toEqual(['a.png']);
  });

  it('uploads only checkpoints with --upload checkpoints, and makes no call without outputs', async () => {
    const bench = openBench(createShelf(), {
      which: 'checkpoints',
      files: { 'a.png': 'a', 'checkpoint-1.bin': 'x' },
    });
    bench.finish('completed');
    await bench.done;
    expect(bench.sentKeys()).toEqual(['checkpoint-1.bin']);
    const idle = openBench();
    idle.finish('completed');
    expect(await idle.done).toBe(true);
    expect(idle.shelf.calls).toEqual(['OUTSTANDING 0']);
  });

  it('ignores outputs that are removed before their upload', async () => {
    const bench = openBench(createShelf(), {
      files: { 'checkpoint-1/a': 'a', 'checkpoint-1/b': 'b', 'c.png': 'c' },
    });
    const remove = (call: string): void => {
      if (call === 'HEAD checkpoint-1/a') bench.remove('checkpoint-1');
    };
    const { onCall } = bench.shelf;
    bench.shelf.onCall = call => {
      remove(call);
      onCall(call);
    };
    bench.finish('completed');
    expect(await bench.done).toBe(true);
    expect(bench.sentKeys()).toEqual(['c.png']);
    expect(bench.logged).toEqual([]);
  });
});

describe('uploads to a failing server', () => {
  it('retries while the server does not answer', async () => {
    const bench = openBench(createShelf(), { files: { a: 'a' } });
    const release = bench.shelf.failAll('', refusalOf(503));
    await bench.called('LIST', 3);
    release();
    bench.finish('completed');
    expect(await bench.done).toBe(true);
    expect(textOf(bench.shelf, 'a')).toBe('a');
  });

  it('reports a file that the server has no room for once, uploads smaller ones, and retries', async () => {
    const shelf = createShelf();
    const release = shelf.failAll('PUT large', refusalOf(413));
    const bench = openBench(shelf, { files: { 'large.png': 'large', 'small.png': 'small' } });
    await bench.sent('small.png');
    await bench.sent('large.png', 2);
    expect(bench.logged).toEqual(['large.png is not uploaded: refused with 413']);
    release();
    await bench.sent('large.png', 3);
    bench.finish('completed');
    expect(await bench.done).toBe(true);
    expect([...shelf.files.keys()].toSorted()).toEqual(['large.png', 'small.png']);
  });

  it('reports outstanding files after a completed job when the server has no room, and uploads them later', async () => {
    const shelf = createShelf();
    const release = shelf.failAll('PUT a.png', refusalOf(507));
    const bench = openBench(shelf, { files: { 'a.png': 'four', 'b.png': 'b' } });
    bench.finish('completed');
    await bench.called('OUTSTANDING 1', 1);
    expect(shelf.outstanding).toEqual({ files: 1, bytes: 4, reason: 'refused with 507' });
    await bench.sent('a.png', 4);
    release();
    expect(await bench.done).toBe(true);
    expect(textOf(shelf, 'a.png')).toBe('four');
    expect(shelf.calls.filter(call => call.startsWith('OUTSTANDING'))).toEqual([
      'OUTSTANDING 1',
      'OUTSTANDING 0',
    ]);
  });

  it.each([413, 502, 503, 504])(
    'reports outstanding files when a proxy answers uploads with %i, and uploads them later',
    async status => {
      const shelf = createShelf();
      const release = shelf.failAll('PUT a.png', proxyAnswerOf(status));
      const bench = openBench(shelf, { files: { 'a.png': 'four', 'b.png': 'b' } });
      bench.finish('completed');
      await bench.called('OUTSTANDING 1', 1);
      expect(shelf.outstanding).toEqual({
        files: 1,
        bytes: 4,
        reason: expect.stringMatching(
          new RegExp(`^A proxy between this worker and the server .* an upload of 4 bytes \\(${status}\\): `),
        ) as unknown,
      });
      expect(textOf(shelf, 'b.png')).toBe('b');
      release();
      expect(await bench.done).toBe(true);
      expect(textOf(shelf, 'a.png')).toBe('four');
      expect(shelf.outstanding).toMatchObject({ files: 0 });
    },
  );

  it('retries a file that a proxy refused while the trainer runs', async () => {
    const shelf = createShelf();
    const release = shelf.failAll('PUT a.png', proxyAnswerOf(413));
    const bench = openBench(shelf, { files: { 'a.png': 'a' } });
    await bench.sent('a.png', 2);
    release();
    await bench.sent('a.png', 3);
    bench.finish('completed');
    expect(await bench.done).toBe(true);
    expect(textOf(shelf, 'a.png')).toBe('a');
  });

  it.each(['LIST', 'PUT', 'OUTSTANDING'])(
    'uploads everything once the server accepts the completed end (%s: 401)',
    async call => {
      const shelf = createShelf();
      const release = shelf.failAll(call, refusalOf(401, 'upload_token_over'));
      const bench = openBench(shelf, { files: { a: 'a' } });
      bench.finish('completed');
      const first = { LIST: 'LIST', PUT: 'PUT a 0', OUTSTANDING: 'OUTSTANDING 0' }[call] ?? '';
      await bench.called(first, 4);
      release();
      expect(await bench.done).toBe(true);
      expect(textOf(shelf, 'a')).toBe('a');
    },
  );

  it.each<[string, Fate]>([
    ['LIST', refusalOf(401, 'uploads_closed')],
    ['PUT', refusalOf(401, 'uploads_closed')],
    ['LIST', refusalOf(403)],
  ])('stops when the server closes the uploads (%s: %j)', async (call, fate) => {
    const shelf = createShelf();
    shelf.failAll(call, fate);
    const bench = openBench(shelf, { files: { a: 'a' } });
    bench.finish('completed');
    expect(await bench.done).toBe(true);
    expect(shelf.files.size).toBe(0);
    expect(shelf.calls.filter(made => made.startsWith(call))).toHaveLength(1);
  });

  it('stops waiting when the server closes the uploads while files are outstanding', async () => {
    const shelf = createShelf();
    shelf.failAll('PUT', refusalOf(413));
    const bench = openBench(shelf, { files: { a: 'a' } });
    bench.finish('completed');
    await bench.called('OUTSTANDING 1', 1);
    shelf.failFirst('PUT', refusalOf(401, 'uploads_closed'));
    expect(await bench.done).toBe(true);
  });

  it('uploads the files to an older server that does not accept outstanding files', async () => {
    const shelf = createShelf();
    shelf.failAll('OUTSTANDING', refusalOf(404, 'route_not_found'));
    const bench = openBench(shelf, { files: { a: 'a' } });
    bench.finish('completed');
    expect(await bench.done).toBe(true);
    expect(textOf(shelf, 'a')).toBe('a');
  });

  it('makes one try for the checkpoints of a preempted attempt', async () => {
    const shelf = createShelf();
    shelf.failAll('PUT', refusalOf(401, 'upload_token_over'));
    const bench = openBench(shelf, { files: { 'a.png': 'a', 'checkpoint-1.bin': 'x' } });
    bench.finish('preempted');
    expect(await bench.done).toBe(true);
    expect(bench.sentKeys()).toEqual(['checkpoint-1.bin']);
    expect(shelf.outstanding).toBeNull();
  });

  it('uploads the rest when the server re-adopts the attempt', async () => {
    const shelf = createShelf();
    const release = shelf.failAll('PUT', refusalOf(401, 'upload_token_over'));
    const bench = openBench(shelf, { files: { 'a.png': 'a' } });
    await bench.sent('a.png');
    release();
    await bench.sent('a.png', 2);
    bench.finish('completed');
    expect(await bench.done).toBe(true);
    expect(textOf(shelf, 'a.png')).toBe('a');
    expect(bench.logged).toEqual([]);
  });
});

describe('images of event files', () => {
  /** A source of two images. The uploader must scan `looks` times until the second image is found. */
  const imagesIn = (looks: number) => {
    const root = tempFolder();
    const calls = { count: 0 };
    const scan = async (): Promise<boolean> => {
      calls.count += 1;
      mkdirSync(join(root, 'images'), { recursive: true });
      if (calls.count === 1) writeFileSync(join(root, 'images', '1.png'), '1');
      if (calls.count === looks) writeFileSync(join(root, 'images', '2.png'), '2');
      return calls.count < looks;
    };
    return { root, calls, scan };
  };

  it('uploads images of event files with the other outputs before it reports none outstanding', async () => {
    const images = imagesIn(20);
    const bench = openBench(createShelf(), { images, files: { 'a.png': 'a' } });
    bench.finish('completed');
    expect(await bench.done).toBe(true);
    expect([...bench.shelf.files.keys()].toSorted()).toEqual(['a.png', 'images/1.png', 'images/2.png']);
    expect(bench.shelf.calls.at(-1)).toBe('OUTSTANDING 0');
  });

  it('prefers a file of the trainer over an image with the same key', async () => {
    const bench = openBench(createShelf(), { images: imagesIn(2), files: { 'images/1.png': 'own' } });
    bench.finish('completed');
    expect(await bench.done).toBe(true);
    expect(textOf(bench.shelf, 'images/1.png')).toBe('own');
    expect(textOf(bench.shelf, 'images/2.png')).toBe('2');
  });

  it('reads no images from event files when only checkpoints are uploaded', async () => {
    const images = imagesIn(1);
    const some = openBench(createShelf(), {
      images,
      which: 'checkpoints',
      files: { 'checkpoint-1.bin': 'x' },
    });
    some.finish('completed');
    expect(await some.done).toBe(true);
    expect(images.calls.count).toBe(0);
    expect(some.sentKeys()).toEqual(['checkpoint-1.bin']);
  });
});

it('reports uploads as unfinished when the agent leaves, and as finished when they are stopped', async () => {
  const ended = new AbortController();
  const left = openBench(createShelf(), { signal: ended.signal, files: { a: 'a' } });
  ended.abort();
  expect(await left.done).toBe(false);
  const stopped = openBench(createShelf(), { files: { a: 'a' } });
  stopped.stop();
  expect(await stopped.done).toBe(true);
});
