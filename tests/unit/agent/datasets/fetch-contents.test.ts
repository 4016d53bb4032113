/** Tests that a rig downloads a whole dataset when connections break, and downloads no part twice. */
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import {
  type ContentSource,
  fetchContents,
  type FetchProgress,
  type OpenedContent,
} from '../../../../agent/datasets/fetch-contents.ts';
import type { Clock } from '../../../../agent/clock.ts';
import { createContentFiles } from '../../../../datasets/content-files.ts';
import { temporaryFolder } from '../../../support/processes.ts';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const contentOf = (text: string) => ({ bytes: text.length, sha256: sha256(text) });

/** A clock whose pauses end immediately. `pauses` returns their number. */
function createInstantClock() {
  let pauses = 0;
  const clock: Clock = {
    mono: () => 0,
    after(_ms, run) {
      pauses += 1;
      const timer = setImmediate(run);
      return () => clearImmediate(timer);
    },
  };
  return { clock, pauses: () => pauses };
}

/** Yields the letters of a text one by one, and throws after `breaksAfter` letters. */
async function* pieces(text: string, breaksAfter = Number.POSITIVE_INFINITY) {
  for (const [index, letter] of text.split('').entries()) {
    if (index >= breaksAfter) throw new Error('the connection broke');
    yield Buffer.from(letter);
  }
}

/** A source of these texts. It records each request as text and offset, such as `cat@0`. */
function sourceOf(
  texts: readonly string[],
  answer: (text: string, from: number, requestCount: number) => OpenedContent = (text, from) => ({
    kind: 'open',
    from,
    pieces: pieces(text.slice(from)),
  }),
) {
  const requests: string[] = [];
  const source: ContentSource = {
    open(digest, from) {
      const text = texts.find(each => sha256(each) === digest) ?? '';
      requests.push(`${text}@${from}`);
      return Promise.resolve(answer(text, from, requests.length));
    },
  };
  return { source, requests };
}

function openRig(folder = temporaryFolder()) {
  const contents = createContentFiles(folder);
  const { clock, pauses } = createInstantClock();
  const progress: FetchProgress[] = [];
  const stop = new AbortController();
  const fetch = (source: ContentSource, ...texts: readonly string[]) =>
    fetchContents({
      required: texts.map(contentOf),
      contents,
      source,
      clock,
      random: () => 0,
      signal: stop.signal,
      onProgress: update => void progress.push(update),
    });
  return { contents, fetch, pauses, progress, stop };
}

describe('fetchContents', () => {
  test('downloads each content once, and reports the progress', async () => {
    const { contents, fetch, progress } = openRig();
    const { source, requests } = sourceOf(['cat', 'dogs', '']);
    expect(await fetch(source, 'cat', 'dogs', 'cat', '')).toEqual({ kind: 'done', fetched: 7 });
    expect(requests.toSorted()).toEqual(['@0', 'cat@0', 'dogs@0']);
    for (const text of ['cat', 'dogs', '']) expect(await contents.has(contentOf(text))).toBe(true);
    expect(progress[0]).toEqual({ bytesHere: 0, bytes: 7 });
    expect(progress.at(-1)).toEqual({ bytesHere: 7, bytes: 7 });
  });

  test('downloads no content that is already stored', async () => {
    const { fetch, progress } = openRig();
    const { source, requests } = sourceOf(['cat']);
    await fetch(source, 'cat');
    expect(await fetch(source, 'cat')).toEqual({ kind: 'done', fetched: 0 });
    expect(requests).toEqual(['cat@0']);
    expect(progress.at(-1)).toEqual({ bytesHere: 3, bytes: 3 });
  });

  test('resumes a download where the connection broke', async () => {
    const { contents, fetch, progress } = openRig();
    const { source, requests } = sourceOf(['elephant'], (text, from, requestCount) => ({
      kind: 'open',
      from,
      pieces: pieces(text.slice(from), requestCount === 1 ? 3 : undefined),
    }));
    expect(await fetch(source, 'elephant')).toEqual({ kind: 'done', fetched: 8 });
    expect(requests).toEqual(['elephant@0', 'elephant@3']);
    expect(await contents.has(contentOf('elephant'))).toBe(true);
    expect(progress.at(-1)?.bytesHere).toBe(8);
  });

  test('resumes a download after the agent was killed', async () => {
    const folder = temporaryFolder();
    const first = openRig(folder);
    const { source } = sourceOf(['elephant'], (text, from) => ({
      kind: 'open',
      from,
      pieces: (async function* () {
        yield Buffer.from(text.slice(from, from + 5));
        first.stop.abort();
        throw new Error('the connection broke');
      })(),
    }));
    expect(await first.fetch(source, 'elephant')).toEqual({ kind: 'aborted' });
    const later = sourceOf(['elephant']);
    expect(await openRig(folder).fetch(later.source, 'elephant')).toEqual({ kind: 'done', fetched: 3 });
    expect(later.requests).toEqual(['elephant@5']);
  });

  test('restarts a download when the source does not support ranges', async () => {
    const { contents, fetch } = openRig();
    const { source } = sourceOf(['elephant'], (text, _from, requestCount) => ({
      kind: 'open',
      from: 0,
      pieces: pieces(text, requestCount === 1 ? 3 : undefined),
    }));
    expect((await fetch(source, 'elephant')).kind).toBe('done');
    expect(await contents.has(contentOf('elephant'))).toBe(true);
  });

  test('retries with pauses while the source is unreachable', async () => {
    const { fetch, pauses } = openRig();
    const { source } = sourceOf(['cat'], (text, from, requestCount) =>
      requestCount < 4 ? { kind: 'later' } : { kind: 'open', from, pieces: pieces(text) },
    );
    expect((await fetch(source, 'cat')).kind).toBe('done');
    expect(pauses()).toBe(3);
  });

  test('stores no more bytes than the content has', async () => {
    const { contents, fetch } = openRig();
    const { source } = sourceOf(['cat'], (text, from) => ({
      kind: 'open',
      from,
      pieces: pieces(`${text}s and more`),
    }));
    expect((await fetch(source, 'cat')).kind).toBe('done');
    expect(await contents.has(contentOf('cat'))).toBe(true);
  });

  test('fails when a content has a wrong digest twice, and keeps no part of the content', async () => {
    const { contents, fetch } = openRig();
    const { source, requests } = sourceOf(['cat'], (_text, from) => ({
      kind: 'open',
      from,
      pieces: pieces('dog'),
    }));
    expect(await fetch(source, 'cat')).toMatchObject({
      kind: 'failed',
      why: expect.stringContaining('arrived 2 times'),
    });
    expect(requests).toHaveLength(2);
    expect(await contents.partBytes(sha256('cat'))).toBe(0);
  });

  test('fails with the reason of the source, and skips the other files', async () => {
    const { fetch } = openRig();
    const { source } = sourceOf(['cat', 'dog'], (text, from) =>
      text === 'dog'
        ? { kind: 'refused', why: 'The dataset was deleted' }
        : { kind: 'open', from, pieces: pieces(text, 0) },
    );
    expect(await fetch(source, 'cat', 'dog')).toEqual({ kind: 'failed', why: 'The dataset was deleted' });
  });

  test('aborts the downloads when the job is cancelled', async () => {
    const { fetch, stop } = openRig();
    stop.abort();
    expect(await fetch(sourceOf(['cat']).source, 'cat')).toEqual({ kind: 'aborted' });
  });
});
