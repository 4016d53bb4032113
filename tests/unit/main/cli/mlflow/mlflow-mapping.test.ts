import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { batchesOf, limits, toMlflowName, toMlflowNames } from '../../../../../main/cli/mlflow/limits.ts';
import { laterThan } from '../../../../../main/cli/mlflow/metrics.ts';
import { toParams } from '../../../../../main/cli/mlflow/params.ts';

describe('names in MLflow', () => {
  it.each([
    ['loss', 'loss'],
    ['gpu.0.power_w', 'gpu.0.power_w'],
    ['train/größe 2', 'train/größe 2'],
    ['lr:1,2', 'lr_1_2'],
    ['/../a//./b/', 'a/b'],
    ['..a', '_.a'],
    ['//', '_'],
    ['', '_'],
    ['x'.repeat(300), 'x'.repeat(250)],
  ])('converts the name %j to %j', (name, expected) => expect(toMlflowName(name)).toBe(expected));

  it('numbers names that become equal, and replaces a slash where a folder and a metric would share a name', () => {
    const names = ['a:b', 'a_b', 'a;b', 'loss', 'loss/val', 'x/y'];
    expect([...toMlflowNames(names).values()]).toEqual(['a_b', 'a_b_2', 'a_b_3', 'loss', 'loss.val', 'x/y']);
  });

  it('maps any set of names to unique names that MLflow accepts', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string({ unit: 'binary', maxLength: 300 }), { maxLength: 30 }), names => {
        const mlflowNames = [...toMlflowNames(names).values()];
        expect(new Set(mlflowNames).size).toBe(names.length);
        for (const name of mlflowNames) {
          expect(name).toMatch(/^[\p{L}\p{N}_/.\- ]{1,250}$/u);
          expect(name.split('/').some(part => ['', '.', '..'].includes(part))).toBe(false);
        }
      }),
    );
  });
});

describe('batchesOf', () => {
  it('limits the items and the bytes of a batch', () => {
    const long = 'ä'.repeat(limits.bytesOfBatch / 4);
    expect([...batchesOf([1, 2, 3, 4, 5], 2)]).toEqual([[1, 2], [3, 4], [5]]);
    expect([...batchesOf([long, long, long], 10)].map(batch => batch.length)).toEqual([1, 1, 1]);
    expect([...batchesOf([], 10)]).toEqual([]);
  });
});

describe('params of a config', () => {
  const paramsOf = (config: object): object =>
    Object.fromEntries(toParams(config, null).map(({ key, value }) => [key, value]));

  it.each([
    [{ hub_token: 'abc' }, { hub_token: '[hidden]' }],
    [{ wandbApiKey: 'abc' }, { wandbApiKey: '[hidden]' }],
    [{ credentials: { user: 'ada', id: 7 } }, { 'credentials.user': '[hidden]', 'credentials.id': '7' }],
    [{ tokens: ['a', 'b'] }, { tokens: '[hidden]' }],
    [{ webhook_url: 'https://x.lan/1' }, { webhook_url: '[hidden]' }],
    [
      { url: 'https://hooks.slack.com/services/T0/B0/abcdefgh' },
      { url: 'https://hooks.slack.com/services/[hidden]' },
    ],
    [{ note: `use hf_${'a1'.repeat(17)} here` }, { note: 'use [hidden] here' }],
    [{ repo: 'https://h.lan/x?a=1&sig=abc&b=2' }, { repo: 'https://h.lan/x?a=1&sig=[hidden]&b=2' }],
  ])('hides the secret in the config %j', (config, params) => expect(paramsOf(config)).toEqual(params));

  it('shows values whose keys only look like secrets, and empty secrets', () => {
    const config = {
      max_token_length: '77',
      tokenizer: 't5',
      hub_token: null,
      push_token: '',
      use_auth: true,
    };
    expect(paramsOf(config)).toEqual({
      max_token_length: '77',
      tokenizer: 't5',
      hub_token: 'null',
      push_token: '',
      use_auth: 'true',
    });
  });

  it('lists nested values and dataloader entries by their paths, and truncates long values', () => {
    const params = toParams({ a: [{ b: 'x'.repeat(7_000) }], c: [1, 2] }, [{ id: 'set' }]);
    expect(params).toEqual([
      { key: 'a.0.b', value: 'x'.repeat(limits.paramValue) },
      { key: 'c', value: '[1,2]' },
      { key: 'dataloader.0.id', value: 'set' },
    ]);
  });
});

describe('laterThan', () => {
  it('keeps only values later than the last logged value of their metric, by time and then by step', () => {
    const metricAt = (key: string, timestamp: number, step: number) => ({ key, timestamp, step, value: 0 });
    const all = [
      metricAt('a', 1, 1),
      metricAt('a', 1, 2),
      metricAt('a', 1, 3),
      metricAt('b', 1, 1),
      metricAt('a', 2, 1),
    ];
    expect(laterThan(all, new Map([['a', { timestamp: 1, step: 2 }]]))).toEqual(all.slice(2));
  });
});
