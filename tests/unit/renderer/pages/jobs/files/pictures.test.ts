/** Pictures are read a few at a time, each one once, and only while they are visible. */
import { beforeEach, expect, test } from 'vitest';
import {
  createPictures,
  type Picture,
  type Pictures,
  type Shown,
} from '../../../../../../renderer/pages/jobs/files/pictures.ts';

const picture = (key: string, sha256 = key): Picture => ({ key, sha256, type: 'image/png' });

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

interface Held {
  readonly told: readonly Shown[];
  readonly letGo: () => void;
}
function hold(wanted: Picture): Held {
  const told: Shown[] = [];
  return { told, letGo: pictures.subscribe(wanted, shown => told.push(shown)) };
}
/** Completes the nth read. Resolves when that has taken effect. */
async function comes(
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
  const { told } = hold(picture('a'));
  expect(told).toEqual([{ state: 'waiting' }]);
  await comes(0);
  expect(told.at(-1)).toEqual({ state: 'there', url: 'blob:1' });
  expect(made[0]?.type).toBe('image/png');
});

test('reads a limited number of pictures at a time and starts the next after a failure', async () => {
  const held = ['a', 'b', 'c', 'd'].map(key => hold(picture(key)));
  expect(keysRead()).toEqual(['a', 'b']);
  await comes(1, new Error('gone'));
  expect(held[1]?.told.at(-1)).toEqual({ state: 'failed' });
  expect(keysRead()).toEqual(['a', 'b', 'c']);
  await comes(0);
  expect(keysRead()).toEqual(['a', 'b', 'c', 'd']);
});

test('reads a picture with several subscribers once and reports it to later ones at once', async () => {
  const first = hold(picture('a'));
  hold(picture('a'));
  await comes(0);
  expect(reads).toHaveLength(1);
  first.letGo();
  expect(hold(picture('a')).told).toEqual([{ state: 'there', url: 'blob:1' }]);
});

test('reads a picture again when its name has another checksum', async () => {
  hold(picture('a', 'old'));
  await comes(0);
  const { told } = hold(picture('a', 'new'));
  expect(told).toEqual([{ state: 'waiting' }]);
  expect(reads).toHaveLength(2);
});

test('aborts the read of a released picture and starts the next', async () => {
  const [a] = ['a', 'b', 'c'].map(key => hold(picture(key)));
  a?.letGo();
  expect(reads[0]?.signal.aborted).toBe(true);
  expect(keysRead()).toEqual(['a', 'b', 'c']);
  await comes(0);
  expect(alive.size).toBe(0);
});

test('keeps the pictures that were released last and revokes the URLs of others', async () => {
  const held = ['a', 'b', 'c'].map(key => hold(picture(key)));
  await comes(0);
  await comes(1);
  await comes(2);
  for (const { letGo } of held) letGo();
  expect([...alive]).toEqual(['blob:3']);
  hold(picture('c'));
  expect(reads).toHaveLength(3);
  hold(picture('a'));
  expect(keysRead().at(-1)).toBe('a');
});

test('retries a failed picture for the next subscriber', async () => {
  const { letGo } = hold(picture('a'));
  await comes(0, new Error('gone'));
  letGo();
  expect(hold(picture('a')).told).toEqual([{ state: 'waiting' }]);
  expect(reads).toHaveLength(2);
});

test('revokes every URL on close and creates none for late answers', async () => {
  hold(picture('a'));
  hold(picture('b'));
  await comes(0);
  pictures.close();
  await comes(1);
  expect(alive.size).toBe(0);
});
