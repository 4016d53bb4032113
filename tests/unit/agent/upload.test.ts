import { appendFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { uploadBytes, uploadFile } from '../../../agent/upload.ts';
import { tempFolder, unreachable } from './builders.ts';
import { createHastyClock, createShelf, refusalOf, sha256Of, type Shelf } from './storage-bench.ts';

const sizes = { wholeUpTo: 10, part: 4 };
const partsOf = ({ storage }: Shelf, over = new AbortController()) => ({
  storage,
  clock: createHastyClock(),
  random: () => 0,
  signal: over.signal,
  sizes,
});

/** A file with this text, as it was found. */
function sourceOf(text: string) {
  const path = join(tempFolder(), 'file');
  writeFileSync(path, text);
  const { size: bytes, mtimeMs: changedAt } = statSync(path);
  return { key: 'key', path, bytes, changedAt, sha256: sha256Of(text) };
}

describe('a file', () => {
  it.each(['', 'x', '0123456789'])('of %j comes as it is', async text => {
    const shelf = createShelf();
    expect(await uploadFile(sourceOf(text), partsOf(shelf))).toEqual({ kind: 'brought' });
    expect(shelf.files.get('key')?.toString()).toBe(text);
    expect(shelf.calls).toEqual(['PUT key 0']);
  });

  it('is sent again until it is there', async () => {
    const shelf = createShelf();
    shelf.fail('PUT', 'cut', unreachable(), refusalOf(503), refusalOf(429), refusalOf(409));
    expect(await uploadFile(sourceOf('0123'), partsOf(shelf))).toEqual({ kind: 'brought' });
    expect(shelf.calls).toHaveLength(6);
  });

  it('that is large comes in parts, and goes on behind what has come', async () => {
    const shelf = createShelf();
    shelf.fail('PUT key 4', 'cut', 'cut');
    const text = 'abcdefghijklmnop';
    expect(await uploadFile(sourceOf(text), partsOf(shelf))).toEqual({ kind: 'brought' });
    expect(shelf.files.get('key')?.toString()).toBe(text);
    expect(shelf.calls).toEqual([
      'HEAD key',
      'PUT key 0',
      'PUT key 4',
      'HEAD key',
      'PUT key 6',
      'PUT key 10',
      'PUT key 14',
    ]);
  });

  it('that is large and there already, or begun with another, is seen for what it is', async () => {
    const text = 'abcdefghijklmnop';
    const there = createShelf({ key: text });
    expect(await uploadFile(sourceOf(text), partsOf(there))).toEqual({ kind: 'brought' });
    expect(there.calls).toEqual(['HEAD key']);
    const other = createShelf({ key: 'something else' });
    await uploadFile(sourceOf(text), partsOf(other));
    expect(other.files.get('key')?.toString()).toBe(text);
    const begun = createShelf();
    const over = new AbortController();
    begun.onCall = call => void (call === 'PUT key 4' && over.abort());
    expect(await uploadFile(sourceOf('0000111122223333'), partsOf(begun, over))).toEqual({ kind: 'aborted' });
    // The first bytes that are there are of another file of the same length: that comes out in the end.
    begun.onCall = () => {};
    expect(await uploadFile(sourceOf(text), partsOf(begun))).toEqual({ kind: 'changed' });
    expect(await uploadFile(sourceOf(text), partsOf(begun))).toEqual({ kind: 'brought' });
    expect(begun.files.get('key')?.toString()).toBe(text);
  });

  it.each([
    [refusalOf(401), { kind: 'over' }],
    [refusalOf(413), { kind: 'no_room', why: 'refused with 413' }],
    [refusalOf(507), { kind: 'no_room', why: 'refused with 507' }],
    [refusalOf(400), { kind: 'refused', why: 'refused with 400' }],
  ])('that is not taken (%j) is not sent again', async (failure, end) => {
    for (const text of ['small', 'much larger than that']) {
      const shelf = createShelf();
      shelf.failAll('PUT', failure);
      expect(await uploadFile(sourceOf(text), partsOf(shelf))).toEqual(end);
    }
  });

  it('that changes, or goes, while it is sent is another one', async () => {
    const shelf = createShelf();
    const grown = sourceOf('x');
    shelf.onCall = () => appendFileSync(grown.path, 'y');
    shelf.fail('PUT', 'cut');
    expect(await uploadFile(grown, partsOf(shelf))).toEqual({ kind: 'changed' });
    shelf.onCall = () => {};
    const gone = sourceOf('x');
    rmSync(gone.path);
    expect(await uploadFile(gone, partsOf(shelf))).toEqual({ kind: 'changed' });
    const shorter = sourceOf('0123456789');
    writeFileSync(shorter.path, '01');
    expect(await uploadFile(shorter, partsOf(shelf))).toEqual({ kind: 'changed' });
  });

  it('that can not be read is none', async () => {
    const source = { ...sourceOf('x'), path: tempFolder() };
    expect(await uploadFile(source, partsOf(createShelf()))).toMatchObject({
      kind: expect.stringMatching(/changed|refused/) as string,
    });
  });
});

it('from memory it comes the same way', async () => {
  const shelf = createShelf();
  shelf.fail('PUT key 4', 'cut');
  const bytes = Buffer.from('abcdefghijklmnop');
  expect(await uploadBytes('key', bytes, partsOf(shelf))).toEqual({ kind: 'brought' });
  expect(shelf.files.get('key')).toEqual(bytes);
});
