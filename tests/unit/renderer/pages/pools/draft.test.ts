import { describe, expect, it } from 'vitest';
import { NewPool } from '../../../../../protocol/pool.ts';
import { checkDraft, type Draft, emptyDraft, toDraft } from '../../../../../renderer/pages/pools/draft.ts';
import { poolView } from '../../pool-builders.ts';

const createDraft = (
  values: Readonly<Record<string, string>> = {},
  overrides: Partial<Draft> = {},
): Draft => {
  const empty = emptyDraft('Europe/Berlin');
  return { ...empty, ...overrides, values: { ...empty.values, name: 'gpu', ...values } };
};
const errorsOf = (draft: Draft) => {
  const checked = checkDraft(draft);
  return checked.ok ? {} : checked.errors;
};

describe('checkDraft', () => {
  it('requires only the name of a Slurm pool, and uses the schema defaults for the rest', () => {
    expect(checkDraft(createDraft())).toEqual({
      ok: true,
      body: NewPool.parse({ name: 'gpu', engine: { kind: 'slurm' } }),
    });
  });

  it('converts the texts of numbers, lists, labels and hours', () => {
    const checked = checkDraft(
      createDraft(
        { max_gpus: '16', wall_time_h: '1.5', trainers: 'simpletuner, kohya', labels: 'team=nlp\nsite=a' },
        {
          hours: { isLimited: true, from: '20:00', to: '08:00', zone: 'Europe/Berlin', days: ['tue', 'mon'] },
        },
      ),
    );
    expect(checked.ok && checked.body).toMatchObject({
      max_gpus: 16,
      wall_time_s: 5_400,
      trainers: ['simpletuner', 'kohya'],
      labels: { team: 'nlp', site: 'a' },
      hours: { from: '20:00', to: '08:00', time_zone: 'Europe/Berlin', days: ['mon', 'tue'] },
    });
  });

  it('checks only the fields of the chosen engine', () => {
    expect(errorsOf(createDraft({ partition: 'a b' }))).toEqual({ partition: { name: 'word' } });
    expect(errorsOf(createDraft({ partition: 'a b', programs: 'runpod' }, { kind: 'command' }))).toEqual({});
    expect(errorsOf(createDraft({}, { kind: 'kubernetes' }))).toEqual({ image: { name: 'required' } });
  });

  it('reports the error of each invalid field', () => {
    expect(
      errorsOf(
        createDraft({
          name: 'My pool',
          gpus: '',
          nodes: '1.5',
          max_launches: '0',
          wall_time_h: '1000',
          after_s: 'soon',
          labels: 'no label',
        }),
      ),
    ).toEqual({
      name: { name: 'name' },
      gpus: { name: 'number' },
      nodes: { name: 'whole' },
      max_launches: { name: 'min', values: { min: 1 } },
      wall_time_h: { name: 'max', values: { max: 168 } },
      after_s: { name: 'number' },
      labels: { name: 'labels', values: { line: 'no label' } },
    });
  });

  it('reports invalid hours, but ignores the hours when the pool may order at any time', () => {
    const hours = { isLimited: true, from: '', to: '08:00', zone: 'Mars', days: [] };
    expect(errorsOf(createDraft({}, { hours }))).toEqual({
      from: { name: 'time' },
      zone: { name: 'zone' },
      days: { name: 'days' },
    });
    const hoursWithoutLength = {
      isLimited: true,
      from: '08:00',
      to: '08:00',
      zone: 'UTC',
      days: ['mon' as const],
    };
    expect(errorsOf(createDraft({}, { hours: hoursWithoutLength }))).toEqual({ to: { name: 'sameHours' } });
    expect(errorsOf(createDraft({}, { hours: { ...hours, isLimited: false } }))).toEqual({});
  });
});

describe('toDraft', () => {
  it('returns a draft that describes the same pool', () => {
    const {
      pool_id: _id,
      name,
      engine,
      settings,
    } = poolView({
      settings: {
        labels: { team: 'nlp' },
        trainers: ['kohya'],
        setup: 'module load cuda\n',
        wall_time_s: 5_430,
        hours: { from: '20:00', to: '08:00', time_zone: 'UTC' },
      },
    });
    expect(checkDraft(toDraft(poolView({ name, engine, settings }), 'Europe/Berlin'))).toEqual({
      ok: true,
      body: { name, engine, ...settings },
    });
  });
});
