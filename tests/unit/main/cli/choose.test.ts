import { describe, expect, test } from 'vitest';
import { choose } from '../../../../main/cli/choose.ts';

const rigs = [
  { id: 'w_aaaa1111', name: 'rig-1' },
  { id: 'w_aaaa2222', name: 'rig-10' },
  { id: 'w_bbbb3333', name: 'rig-2' },
  { id: 'w_cccc4444', name: 'twin' },
  { id: 'w_dddd5555', name: 'twin' },
];
const find = (word: string, things = rigs) => choose(word, things, { what: 'worker', identify: rig => rig });

describe('one thing is meant by', () => {
  test.each([
    ['its name', 'rig-1', 'w_aaaa1111'],
    ['its id', 'w_bbbb3333', 'w_bbbb3333'],
    ['the beginning of its id', 'w_bb', 'w_bbbb3333'],
    ['its whole id, when two share a name', 'w_dddd5555', 'w_dddd5555'],
  ])('%s', (_how, word, id) => {
    expect(find(word)).toMatchObject({ ok: true, value: { id } });
  });

  test('a name that is the beginning of an id of another', () => {
    const things = [
      { id: 'w_eeee', name: 'w_ffff' },
      { id: 'w_ffff1', name: 'other' },
    ];
    expect(find('w_ffff', things)).toMatchObject({ ok: true, value: { id: 'w_eeee' } });
  });
});

describe('nothing is meant by', () => {
  test.each([
    ['a name that is not there', 'rig-3'],
    ['the beginning of a name: it might be of one that is gone', 'rig-'],
    ['the beginning of another name', 'rig'],
    ['less than four characters, though they fit one alone', 'w_b'],
    ['nothing at all', ''],
  ])('%s', (_what, word) => {
    expect(find(word)).toEqual({
      ok: false,
      failure: { code: 4, message: `No worker "${word}". To list workers, run "trainyard workers list"` },
    });
  });

  test('what fits several, which are named', () => {
    expect(find('w_aaaa')).toEqual({
      ok: false,
      failure: {
        code: 2,
        message: '"w_aaaa" is ambiguous: rig-1 (w_aaaa1111), rig-10 (w_aaaa2222). Give a longer id',
      },
    });
    expect(find('twin')).toMatchObject({ ok: false, failure: { code: 2 } });
  });

  test('what fits many: some are named', () => {
    const many = Array.from({ length: 9 }, (_, at) => ({ id: `w_same${at}`, name: `rig-${at}` }));
    const choice = find('w_same', many);
    expect(choice.ok ? '' : choice.failure.message).toContain('rig-4 (w_same4) and 4 more. Give a longer id');
  });
});
