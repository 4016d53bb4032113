import { describe, expect, it } from 'vitest';
import {
  NewTemplate,
  ReplacedTemplate,
  TemplateParameter,
  TemplateSubmit,
} from '../../../protocol/template.ts';
import { problemText, readValue, type ValueProblem } from '../../../protocol/template-values.ts';

const parameter = (fields: object) => TemplateParameter.parse({ key: 'k', ...fields });
/** Returns `field: message` for each error of a parameter; an empty list for a valid parameter. */
const issues = (fields: object): readonly string[] => {
  const parsed = TemplateParameter.safeParse({ key: 'k', ...fields });
  return parsed.success
    ? []
    : parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
};

describe('readValue', () => {
  it.each([
    ['integer', '20', 20],
    ['integer', ' 2e3 ', 2000],
    ['number', '1e-4', 1e-4],
    ['number', 5, 5],
    ['boolean', 'True', true],
    ['boolean', false, false],
    ['text', 5, '5'],
    ['text', ' a b ', ' a b '],
  ])('converts a template value to %s: %j', (type, given, value) =>
    expect(readValue(parameter({ type }), given)).toEqual({ ok: true, value }),
  );

  it.each<[object, string | number | boolean | undefined, ValueProblem]>([
    [{}, undefined, 'missing'],
    [{}, '  ', 'missing'],
    [{ type: 'integer' }, '1.5', 'not_integer'],
    [{ type: 'integer' }, '0x10', 'not_integer'],
    [{ type: 'integer' }, '1e99', 'not_integer'],
    [{ type: 'number' }, 'fast', 'not_number'],
    [{ type: 'number' }, '1e999', 'not_number'],
    [{ type: 'boolean' }, 'yes', 'not_boolean'],
    [{ type: 'integer', min: 1 }, 0, 'too_small'],
    [{ type: 'number', max: 1 }, '1.1', 'too_large'],
    [{ type: 'integer', choices: ['8', 16] }, 12, 'not_a_choice'],
  ])('returns for the parameter %j and the value %j the problem %s', (rule, given, problem) => {
    expect(readValue(parameter(rule), given)).toEqual({ ok: false, problem });
    expect(problemText(parameter(rule), problem)).not.toBe('');
  });

  it('returns the default when the value is missing, and accepts a choice in another notation', () => {
    expect(readValue(parameter({ type: 'integer', default: '8' }), undefined)).toEqual({
      ok: true,
      value: 8,
    });
    expect(readValue(parameter({ type: 'number', choices: ['1e-4'] }), 0.0001)).toMatchObject({ ok: true });
    expect(readValue({ ...parameter({ type: 'integer' }), choices: ['x'] }, 1)).toMatchObject({ ok: false });
    expect(problemText(parameter({}), 'unknown')).toBe('the template does not ask for this value');
  });
});

describe('TemplateParameter', () => {
  it.each<[object, string]>([
    [{ document: 'file' }, 'file: give the path'],
    [{ file: 'a.toml' }, 'file: give the path'],
    [{ document: 'file', file: 'a.toml', type: 'boolean' }, 'type: a template can change'],
    [{ document: 'job' }, 'key: expected one of: gpu_count'],
    [{ document: 'job', key: 'gpu_count' }, 'type: gpu_count has the type integer'],
    [{ min: 1 }, 'min: only numbers'],
    [{ type: 'boolean', max: 1 }, 'max: only numbers'],
    [{ type: 'number', min: 2, max: 1 }, 'max: must not be less'],
    [{ type: 'number', choices: ['x'] }, 'choices: "x" is not'],
    [{ type: 'number', choices: [5], max: 4 }, 'choices: "5" is not'],
    [{ type: 'number', default: 'x' }, 'default: expected a number'],
    [{ key: 'a.hf_token', default: 'abc' }, 'default: a template must not contain a secret'],
    [{ key: 'a\nb' }, 'key: '],
  ])('refuses the template parameter %j', (given, message) =>
    expect(issues(given)).toEqual([expect.stringContaining(message)]),
  );

  it('accepts template parameters whose fields are consistent', () => {
    expect(
      issues({ document: 'file', file: 'data.toml', type: 'integer', min: 1, max: 1, default: 1 }),
    ).toEqual([]);
    expect(
      issues({ document: 'job', key: 'gpu_count', type: 'integer', choices: [1, 2], default: 2 }),
    ).toEqual([]);
  });
});

describe('requests about templates', () => {
  const submission = { config: {} };
  it('requires either a submission or a job, and parameters with different keys', () => {
    const isAccepted = (body: object) => NewTemplate.safeParse({ name: 'n', ...body }).success;
    expect(isAccepted({ submission })).toBe(true);
    expect(isAccepted({ job_id: 'j_1' })).toBe(true);
    expect(isAccepted({})).toBe(false);
    expect(isAccepted({ submission, job_id: 'j_1' })).toBe(false);
    for (const jobField of [{ dry_run: true }, { idempotency_key: 'k' }, { after: ['j_1'] }])
      expect(isAccepted({ submission: { ...submission, ...jobField } })).toBe(false);
    const first = { key: 'a' };
    const sameKey = { key: 'a', label: 'again' };
    expect(isAccepted({ submission, parameters: [first] })).toBe(true);
    expect(isAccepted({ submission, parameters: [first, sameKey] })).toBe(false);
    expect(ReplacedTemplate.safeParse({ name: 'n', submission, revision: 0 }).success).toBe(false);
  });

  it('refuses a submission of a template with too many values, or with after_on but without after', () => {
    const values = Object.fromEntries(Array.from({ length: 41 }, (_, index) => [`k${index}`, 1]));
    expect(TemplateSubmit.safeParse({ values }).success).toBe(false);
    expect(TemplateSubmit.safeParse({ after_on: 'end' }).success).toBe(false);
    expect(TemplateSubmit.safeParse({ after: ['j_1'], after_on: 'end' }).success).toBe(true);
  });
});
