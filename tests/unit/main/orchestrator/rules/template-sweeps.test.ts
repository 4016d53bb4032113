import { describe, expect, it } from 'vitest';
import { templatePoints } from '../../../../../main/orchestrator/rules/template-sweeps.ts';
import { SubmitRequest } from '../../../../../protocol/submission.ts';
import { TemplateParameter, TemplateSweep } from '../../../../../protocol/template.ts';

const template = (submission: object, ...parameters: readonly object[]) => ({
  submission: SubmitRequest.parse({ config: {}, ...submission }),
  parameters: parameters.map(each => TemplateParameter.parse(each)),
});
const flux = template(
  { config: { lr: 1, nested: { rank: 4 } }, files: { 'data.toml': 'size = 1 # px\n' }, tags: ['t'] },
  { key: 'lr', type: 'number', default: 1, max: 10 },
  { key: 'gpu_count', document: 'job', type: 'integer', default: 1 },
  { key: 'size', document: 'file', file: 'data.toml', type: 'integer', default: 512 },
  { key: 'flavour', default: 'mild' },
  { key: 'on', type: 'boolean', default: true },
);
const axis = (key: string, ...values: readonly unknown[]) => ({ key, values });
const points = (sweep: readonly object[], rest: object = {}, from = flux) =>
  templatePoints(from, TemplateSweep.parse({ sweep, ...rest }));
const refusalFor = (...args: Parameters<typeof points>) => {
  const outcome = points(...args);
  return outcome.ok ? null : outcome.refusal;
};

describe('templatePoints', () => {
  it('varies parameters of the template, and other values of its config', () => {
    const outcome = points([axis('lr', '2', 3), axis('nested.rank', 8)], {
      values: { flavour: 'hot' },
      tags: ['u'],
    });
    expect(outcome).toMatchObject({
      value: [
        {
          values: { lr: 2, 'nested.rank': 8 },
          bundle: { config: { lr: 2, nested: { rank: 8 }, flavour: 'hot', on: true } },
          request: { tags: ['t', 'u'] },
        },
        { values: { lr: 3, 'nested.rank': 8 }, bundle: { config: { lr: 3, nested: { rank: 8 } } } },
      ],
    });
  });

  it('varies settings of the job, and values in files', () => {
    const outcome = points([axis('gpu_count', 1, 2), axis('size', 768)]);
    expect(outcome).toMatchObject({
      value: [
        { request: { gpu_count: 1 }, bundle: { files: { 'data.toml': 'size = 768 # px\n' } } },
        { request: { gpu_count: 2 }, bundle: { files: { 'data.toml': 'size = 768 # px\n' } } },
      ],
    });
  });

  it('varies the config of a template that only names its config', () => {
    const named = template({ config: undefined, config_name: 'flowers' });
    expect(points([axis('lr', 1)], {}, named)).toMatchObject({ value: [{ bundle: { config: { lr: 1 } } }] });
  });

  it.each<[string, readonly object[], string]>([
    ['a value of another type', [axis('lr', 'fast')], 'lr: expected a number, not "fast"'],
    ['a value beyond the limits', [axis('lr', 1, 11)], 'lr: expected at most 10, not 11'],
    ['an empty value', [axis('flavour', ' ')], 'flavour: a value is required, not " "'],
    ['a null value', [axis('flavour', null)], 'flavour: a value is required, not null'],
    ['the same number twice', [axis('lr', 1, '1.0')], 'lr: the value 1 is given twice'],
    ['a secret', [axis('hub_token', 'a', 'b')], 'hub_token: a sweep cannot vary a secret'],
    ['a key that the config does not have', [axis('a.b', 1)], 'no value "a.b" to vary'],
  ])('refuses a sweep over %s', (_what, sweep, text) => expect(refusalFor(sweep)?.detail).toContain(text));

  it('refuses a value that is not a parameter of the template', () =>
    expect(refusalFor([axis('lr', 1)], { values: { seed: 1 } })?.detail).toBe(
      'seed: the template does not ask for this value',
    ));

  it('refuses a combination that no job can have', () => {
    const nodes = template({}, { key: 'gpu_count', document: 'job', type: 'integer' });
    expect(refusalFor([axis('gpu_count', 1, 5_000)], {}, nodes)?.detail).toMatch(/^gpu_count: /);
  });

  it('refuses a sweep whose copies of the config, or of a file, are too large together', () => {
    const many = axis('lr', ...Array.from({ length: 200 }, (_, n) => n));
    const large = template({ config: { text: 'x'.repeat(200_000) } });
    expect(refusalFor([many], {}, large)?.detail).toContain('The config is too large for 200 jobs');
    const file = template(
      { files: { 'data.toml': `size = 1\n#${'x'.repeat(6_000)}\n` } },
      { key: 'size', document: 'file', file: 'data.toml', type: 'integer' },
    );
    const sizes = { ...many, key: 'size' };
    expect(refusalFor([sizes], {}, file)?.detail).toContain('The file is too large');
  });

  it('refuses a key that has both one value and several values', () => {
    const both = TemplateSweep.safeParse({ sweep: [axis('lr', 1, 2)], values: { lr: 1 } });
    expect(both.error?.issues).toMatchObject([{ path: ['values'] }]);
  });
});
