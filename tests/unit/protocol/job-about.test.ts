import { describe, expect, it } from 'vitest';
import { edited, JobEdit, JobGroup, JobNotes, JobTags, shownName } from '../../../protocol/job-about.ts';
import { SweepRequest } from '../../../protocol/sweep.ts';

const about = { name: 'n', tags: ['a', 'b'], group: 'g', sweep: { lr: 1 }, template: 't' };
const applyEdit = (edit: object) => edited(about, JobEdit.parse(edit));

describe('edited', () => {
  it('keeps all fields that the edit omits', () => {
    expect(applyEdit({})).toEqual(about);
  });

  it('replaces and removes name and group', () => {
    expect(applyEdit({ name: 'm', group: null })).toEqual({ ...about, name: 'm', group: null });
    expect(applyEdit({ name: null, group: 'h' })).toEqual({ ...about, name: null, group: 'h' });
  });

  it('adds, removes and replaces tags without duplicates', () => {
    expect(applyEdit({ add_tags: ['b', 'c'], remove_tags: ['a', 'x'] })?.tags).toEqual(['b', 'c']);
    expect(applyEdit({ tags: ['z'] })?.tags).toEqual(['z']);
    expect(applyEdit({ tags: [] })?.tags).toEqual([]);
  });

  it('returns null when the job would have more than 16 tags', () => {
    const tags = Array.from({ length: 15 }, (_, n) => `t${n}`);
    expect(applyEdit({ add_tags: tags.slice(0, 14) })?.tags).toHaveLength(16);
    expect(applyEdit({ add_tags: tags })).toBeNull();
  });
});

describe('limits of texts about a job', () => {
  it.each(['', 'two words', 'a,b', '-a', '"a"', 'x'.repeat(101), 'a\u202eb'])(
    'refuses the group %j',
    text => {
      expect(JobGroup.safeParse(text).success).toBe(false);
    },
  );

  it.each(['lr:1e-4', '花', 'team/a@b', 'v1.0+x=y'])('accepts the group %j', text => {
    expect(JobGroup.parse(text)).toBe(text);
  });

  it('refuses too many or duplicate tags, and notes that are too long or contain a null character', () => {
    expect(JobTags.safeParse(Array.from({ length: 17 }, (_, n) => `t${n}`)).success).toBe(false);
    expect(JobTags.safeParse(['a', 'a']).success).toBe(false);
    expect(JobNotes.safeParse('x'.repeat(10_001)).success).toBe(false);
    expect(JobNotes.safeParse('a\0').success).toBe(false);
    expect(JobNotes.safeParse('a\n\tb').success).toBe(true);
  });

  it('refuses an edit that replaces all tags and also changes single tags, or has an unknown field', () => {
    expect(JobEdit.safeParse({ tags: ['a'], add_tags: ['b'] }).success).toBe(false);
    expect(JobEdit.safeParse({ tags: ['a'], remove_tags: ['b'] }).success).toBe(false);
    expect(JobEdit.safeParse({ title: 'a' }).success).toBe(false);
  });
});

describe('shownName', () => {
  it('returns the name of the config for a job without a name', () => {
    expect(shownName({ name: null, config_name: 'c' })).toBe('c');
    expect(shownName({ name: 'n', config_name: 'c' })).toBe('n');
  });
});

describe('limits of a sweep', () => {
  const isAccepted = (sweep: unknown, fields: object = {}) =>
    SweepRequest.safeParse({ config: {}, sweep, ...fields }).success;
  const keyWithValues = (key: string, count: number) => ({
    key,
    values: Array.from({ length: count }, (_, n) => n),
  });

  it('accepts a sweep of 256 jobs, and refuses larger sweeps', () => {
    expect(isAccepted([keyWithValues('a', 16), keyWithValues('b', 16)])).toBe(true);
    expect(isAccepted([keyWithValues('a', 16), keyWithValues('b', 17)])).toBe(false);
  });

  it.each<[string, unknown, object?]>([
    ['without keys', []],
    ['with a key without values', [{ key: 'a', values: [] }]],
    ['with the same key twice', [keyWithValues('a', 1), keyWithValues('a', 1)]],
    ['with the same value twice', [{ key: 'a', values: [1, 1] }]],
    ['with a list as value', [{ key: 'a', values: [[1]] }]],
    ['with a line break in a key', [{ key: 'a\nb', values: [1] }]],
    ['with more than eight keys', Array.from({ length: 9 }, (_, n) => keyWithValues(`k${n}`, 1))],
    ['with no_wait', [keyWithValues('a', 2)], { no_wait: true }],
    [
      'with a dataloader for a named config',
      [keyWithValues('a', 2)],
      { config: undefined, config_name: 'c', dataloader: [] },
    ],
  ])('refuses a sweep %s', (_title, sweep, fields) => {
    expect(isAccepted(sweep, fields)).toBe(false);
  });
});
