import { describe, expect, test } from 'vitest';
import { choose } from '../../../../main/cli/choose.ts';

const rigs = [
  { id: 'w_aaaa1111', name: 'rig-1' },
  { id: 'w_aaaa2222', name: 'rig-10' },
  { id: 'w_bbbb3333', name: 'rig-2' },
  { id: 'w_cccc4444', name: 'twin' },
  { id: 'w_dddd5555', name: 'twin' },
];
const chooseRig = (text: string, candidates = rigs) =>
  choose(text, candidates, { what: 'worker', identify: rig => rig });

describe('choose with one match', () => {
  test.each([
    ['its name', 'rig-1', 'w_aaaa1111'],
    ['its id', 'w_bbbb3333', 'w_bbbb3333'],
    ['the start of its id', 'w_bb', 'w_bbbb3333'],
    ['its full id when two workers share a name', 'w_dddd5555', 'w_dddd5555'],
  ])('finds a worker by %s', (_case, text, id) => {
    expect(chooseRig(text)).toMatchObject({ ok: true, value: { id } });
  });

  test('prefers an exact name to the start of another id', () => {
    const candidates = [
      { id: 'w_eeee', name: 'w_ffff' },
      { id: 'w_ffff1', name: 'other' },
    ];
    expect(chooseRig('w_ffff', candidates)).toMatchObject({ ok: true, value: { id: 'w_eeee' } });
  });
});

describe('choose with no or several matches', () => {
  test.each([
    ['an unknown name', 'rig-3'],
    ['the start of several names', 'rig-'],
    ['a shorter start of several names', 'rig'],
    ['fewer than four characters of an id', 'w_b'],
    ['an empty text', ''],
  ])('returns exit code 4 for %s', (_case, text) => {
    expect(chooseRig(text)).toEqual({
      ok: false,
      failure: { code: 4, message: `No worker "${text}". To list workers, run "trainyard workers list"` },
    });
  });

  test('returns exit code 2 and names the matches of an ambiguous id', () => {
    expect(chooseRig('w_aaaa')).toEqual({
      ok: false,
      failure: {
        code: 2,
        message: '"w_aaaa" is ambiguous: rig-1 (w_aaaa1111), rig-10 (w_aaaa2222). Give a longer id',
      },
    });
    expect(chooseRig('twin')).toMatchObject({ ok: false, failure: { code: 2 } });
  });

  test('lists at most five matches of an ambiguous id', () => {
    const many = Array.from({ length: 9 }, (_, n) => ({ id: `w_same${n}`, name: `rig-${n}` }));
    const choice = chooseRig('w_same', many);
    expect(choice.ok ? '' : choice.failure.message).toContain('rig-4 (w_same4) and 4 more. Give a longer id');
  });
});
