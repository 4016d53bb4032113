/** Pictures are read a few at a time, each one once, and only while they are visible. */
import { beforeEach, expect, test } from 'vitest';
import { JobId } from '../../../../../../protocol/ids.ts';
import {
  createPictures,
  type Picture,
  type Pictures,
  type Shown,
} from '../../../../../../renderer/pages/jobs/files/pictures.ts';

const picture = (key: string, sha256 = key): Picture => ({
  job: JobId.parse('j_1'),
  key,
  sha256,
  type: 'image/png',
});

interface Read {
  readonly picture: Picture;
  readonly signal: AbortSignal;
  readonly answer: PromiseWithResolvers<Blob>;
}
let reads: Read[];
let made: Blob[];
let alive: Set<string>;
let pictures: Pictures;
beforeEach(() => {
  reads = [];
  made = [];
  alive = new Set();
  pictures = createPictures({
    read(wanted, signal) {
      const answer = Promise.withResolvers<Blob>();
      reads.push({ picture: wanted, signal, answer });
      return answer.promise;
    },
    urls: {
      createObjectURL(bytes) {
        made.push(bytes);
        const url = `blob:${made.length}`;
        alive.add(url);
        return url;
      },
      revokeObjectURL: url => void alive.delete(url),
    },
    maxParallel: 2,
    maxUnused: 1,
  });
});

interface Subscription {
  readonly reported: readonly Shown[];
  readonly release: () => void;
}
function subscribe(wanted: Picture): Subscription {
  const reported: Shown[] = [];
  return { reported, release: pictures.subscribe(wanted, shown => reported.push(shown)) };
}
/** Completes the nth read. Resolves when that has taken effect. */
async function complete(
  nth: number,
  bytes: Blob | Error = new Blob(['x'], { type: 'text/html' }),
): Promise<void> {
  const answer = reads[nth]?.answer;
  if (bytes instanceof Error) answer?.reject(bytes);
  else answer?.resolve(bytes);
  await new Promise(resolve => setImmediate(resolve));
}
const keysRead = (): readonly string[] => reads.map(({ picture: { key } }) => key);

test('reads a requested picture and reports it with the media type of its file name', async () => {
  const { reported } = subscribe(picture('a'));
  expect(reported).toEqual([{ state: 'waiting' }]);
  await complete(0);
  expect(reported.at(-1)).toEqual({ state: 'there', url: 'blob:1' });
  expect(made[0]?.type).toBe('image/png');
});

test('reads a limited number of pictures at a time and starts the next after a failure', async () => {
  const held = ['a', 'b', 'c', 'd'].map(key => subscribe(picture(key)));
  expect(keysRead()).toEqual(['a', 'b']);
  await complete(1, new Error('gone'));
  expect(held[1]?.reported.at(-1)).toEqual({ state: 'failed' });
  expect(keysRead()).toEqual(['a', 'b', 'c']);
  await complete(0);
  expect(keysRead()).toEqual(['a', 'b', 'c', 'd']);
});

test('reads a picture with several subscribers once and reports it to later ones at once', async () => {
  const first = subscribe(picture('a'));
  subscribe(picture('a'));
  await complete(0);
  expect(reads).toHaveLength(1);
  first.release();
  expect(subscribe(picture('a')).reported).toEqual([{ state: 'there', url: 'blob:1' }]);
});

test('reads a picture again when its name has another checksum', async () => {
  subscribe(picture('a', 'old'));
  await complete(0);
  const { reported } = subscribe(picture('a', 'new'));
  expect(reported).toEqual([{ state: 'waiting' }]);
  expect(reads).toHaveLength(2);
});

test('aborts the read of a released picture and starts the next', async () => {
  const [a] = ['a', 'b', 'c'].map(key => subscribe(picture(key)));
  a?.release();
  expect(reads[0]?.signal.aborted).toBe(true);
  expect(keysRead()).toEqual(['a', 'b', 'c']);
  await complete(0);
  expect(alive.size).toBe(0);
});

test('keeps the pictures that were released last and revokes the URLs of others', async () => {
  const held = ['a', 'b', 'c'].map(key => subscribe(picture(key)));
  await complete(0);
  await complete(1);
  await complete(2);
  for (const { release } of held) release();
  expect([...alive]).toEqual(['blob:3']);
  subscribe(picture('c'));
  expect(reads).toHaveLength(3);
  subscribe(picture('a'));
  expect(keysRead().at(-1)).toBe('a');
});

test('retries a failed picture for the next subscriber', async () => {
  const { release } = subscribe(picture('a'));
  await complete(0, new Error('gone'));
  release();
  expect(subscribe(picture('a')).reported).toEqual([{ state: 'waiting' }]);
  expect(reads).toHaveLength(2);
});

test('revokes every URL on close and creates none for late answers', async () => {
  subscribe(picture('a'));
  subscribe(picture('b'));
  await complete(0);
  pictures.close();
  await complete(1);
  expect(alive.size).toBe(0);
});
