/** Tests that the panel reads each visible picture once, and only a few pictures at a time. */
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
let createdBlobs: Blob[];
let openUrls: Set<string>;
let pictures: Pictures;
beforeEach(() => {
  reads = [];
  createdBlobs = [];
  openUrls = new Set();
  pictures = createPictures({
    read(requested, signal) {
      const answer = Promise.withResolvers<Blob>();
      reads.push({ picture: requested, signal, answer });
      return answer.promise;
    },
    urls: {
      createObjectURL(bytes) {
        createdBlobs.push(bytes);
        const url = `blob:${createdBlobs.length}`;
        openUrls.add(url);
        return url;
      },
      revokeObjectURL: url => void openUrls.delete(url),
    },
    maxParallel: 2,
    maxUnused: 1,
  });
});

interface Subscription {
  readonly states: readonly Shown[];
  readonly release: () => void;
}
function subscribe(requested: Picture): Subscription {
  const states: Shown[] = [];
  return { states, release: pictures.subscribe(requested, shown => states.push(shown)) };
}
/** Completes the read with this index, and waits until its subscribers have been notified. */
async function complete(
  index: number,
  bytes: Blob | Error = new Blob(['x'], { type: 'text/html' }),
): Promise<void> {
  const answer = reads[index]?.answer;
  if (bytes instanceof Error) answer?.reject(bytes);
  else answer?.resolve(bytes);
  await new Promise(resolve => setImmediate(resolve));
}
const keysRead = (): readonly string[] => reads.map(({ picture: { key } }) => key);

test('reads a subscribed picture and reports a URL with the media type of the file name', async () => {
  const { states } = subscribe(picture('a'));
  expect(states).toEqual([{ state: 'waiting' }]);
  await complete(0);
  expect(states.at(-1)).toEqual({ state: 'there', url: 'blob:1' });
  expect(createdBlobs[0]?.type).toBe('image/png');
});

test('reads two pictures at a time and starts the next read after a failure', async () => {
  const subscriptions = ['a', 'b', 'c', 'd'].map(key => subscribe(picture(key)));
  expect(keysRead()).toEqual(['a', 'b']);
  await complete(1, new Error('gone'));
  expect(subscriptions[1]?.states.at(-1)).toEqual({ state: 'failed' });
  expect(keysRead()).toEqual(['a', 'b', 'c']);
  await complete(0);
  expect(keysRead()).toEqual(['a', 'b', 'c', 'd']);
});

test('reads a picture with several subscribers once, and immediately sends later subscribers the URL', async () => {
  const first = subscribe(picture('a'));
  subscribe(picture('a'));
  await complete(0);
  expect(reads).toHaveLength(1);
  first.release();
  expect(subscribe(picture('a')).states).toEqual([{ state: 'there', url: 'blob:1' }]);
});

test('reads a picture again when its checksum has changed', async () => {
  subscribe(picture('a', 'old'));
  await complete(0);
  const { states } = subscribe(picture('a', 'new'));
  expect(states).toEqual([{ state: 'waiting' }]);
  expect(reads).toHaveLength(2);
});

test('aborts the read of a released picture and starts the next read', async () => {
  const [a] = ['a', 'b', 'c'].map(key => subscribe(picture(key)));
  a?.release();
  expect(reads[0]?.signal.aborted).toBe(true);
  expect(keysRead()).toEqual(['a', 'b', 'c']);
  await complete(0);
  expect(openUrls.size).toBe(0);
});

test('keeps the pictures that were released last and revokes the URLs of earlier pictures', async () => {
  const subscriptions = ['a', 'b', 'c'].map(key => subscribe(picture(key)));
  await complete(0);
  await complete(1);
  await complete(2);
  for (const { release } of subscriptions) release();
  expect([...openUrls]).toEqual(['blob:3']);
  subscribe(picture('c'));
  expect(reads).toHaveLength(3);
  subscribe(picture('a'));
  expect(keysRead().at(-1)).toBe('a');
});

test('retries a failed picture for the next subscriber', async () => {
  const { release } = subscribe(picture('a'));
  await complete(0, new Error('gone'));
  release();
  expect(subscribe(picture('a')).states).toEqual([{ state: 'waiting' }]);
  expect(reads).toHaveLength(2);
});

test('revokes every URL on close and creates no URLs for late answers', async () => {
  subscribe(picture('a'));
  subscribe(picture('b'));
  await complete(0);
  pictures.close();
  await complete(1);
  expect(openUrls.size).toBe(0);
});
