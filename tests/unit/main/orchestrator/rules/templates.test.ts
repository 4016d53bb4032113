import { describe, expect, it } from 'vitest';
import {
  checkTemplate,
  filledSubmission,
  submissionOfJob,
  withBundle,
} from '../../../../../main/orchestrator/rules/templates.ts';
import { SubmitRequest } from '../../../../../protocol/submission.ts';
import { TemplateParameter, TemplateSubmit } from '../../../../../protocol/template.ts';
import { makeJob } from '../../../../contract/store/builders.ts';

const submission = (fields: object) => SubmitRequest.parse({ config: {}, ...fields });
const parameters = (...list: readonly object[]) => list.map(fields => TemplateParameter.parse(fields));
// Returns the stored submission of a template, or the reason for its refusal.
const check = (fields: object, ...parameterList: readonly object[]) => {
  const outcome = checkTemplate(submission(fields), parameters(...parameterList));
  return outcome.ok ? outcome.value : outcome.refusal.detail;
};

describe('checkTemplate', () => {
  it('accepts parameters for values of the submission, and for new keys at the top level of its config', () => {
    const fields = { config: { lr: 1, on: true, name: 'x' }, gpu_count: 1 };
    const parameterList = [
      { key: 'lr', type: 'number', min: 2 },
      { key: 'rank', type: 'integer', max: 8 },
      { key: 'alpha', type: 'integer' },
      { key: 'on', type: 'boolean' },
      { key: 'name' },
      { key: 'size', choices: ['s', 'l'] },
      { key: 'seed', type: 'integer', default: 4 },
    ];
    expect(check(fields, ...parameterList)).toEqual(submission(fields));
  });

  it('removes the values of parameters that are secrets', () => {
    const secret = 'hf_0123456789abcdef';
    const fields = {
      config: { hf_token: secret },
      dataloader: { s3: { secret_key: secret } },
      files: { 'a.toml': 'x = 1' },
    };
    const parameterList = [{ key: 'hf_token' }, { key: 's3.secret_key', document: 'dataloader' }];
    const stored = check(fields, ...parameterList);
    expect(stored).toMatchObject({ config: { hf_token: '' }, dataloader: { s3: { secret_key: '' } } });
    expect(JSON.stringify(stored)).not.toContain(secret);
    expect(check({}, { key: 'hf_token.x' })).toContain('hf_token.x');
    expect(check({}, { key: 'x.token', document: 'dataloader' })).toContain('x.token');
    expect(check(fields, { key: 'token', document: 'file', file: 'a.toml' })).toContain('hf_token');
    expect(
      checkTemplate({ ...submission({}), config: undefined }, parameters({ key: 'token' })),
    ).toMatchObject({
      ok: true,
    });
  });

  it.each<[string, object, object[], string]>([
    ['a secret', { config: { wandb_api_key: '0123456789abcdef' } }, [], 'must not contain secrets'],
    [
      'a config that cannot be used',
      { config: { $trainer: 'ai-toolkit', config: {} } },
      [],
      'config.name is missing',
    ],
    ['a large config', { config: { text: 'x'.repeat(300_000) } }, [], 'too large'],
    [
      'a parameter for a nested value that the config lacks',
      { config: {} },
      [{ key: 'config.lr' }],
      'no value "config.lr"',
    ],
  ])('refuses a template with %s', (_case, fields, parameterList, detail) => {
    expect(check(fields, ...parameterList)).toContain(detail);
  });
});

describe('filledSubmission', () => {
  const template = {
    submission: submission({ config: { lr: 1 } }),
    parameters: parameters(
      { key: 'lr', type: 'number', max: 1 },
      { key: 'gpu_count', document: 'job', type: 'integer', default: 1 },
    ),
  };
  const fill = (values: object, used = template) => {
    const outcome = filledSubmission(used, TemplateSubmit.parse({ values, idempotency_key: 'k' }));
    return outcome.ok ? outcome.value : outcome.refusal;
  };

  it('returns the submission with the filled-in values', () =>
    expect(fill({ lr: '1e-4' })).toMatchObject({ config: { lr: 1e-4 }, gpu_count: 1 }));

  it('lists every invalid value', () => {
    expect(fill({ lr: 2, x: 1 })).toEqual({
      code: 'invalid_request',
      detail: 'x: the template does not ask for this value; lr: expected at most 1',
    });
    expect(fill({ lr: 1, gpu_count: -1 })).toMatchObject({ detail: expect.stringMatching(/^gpu_count: ./) });
    const withoutValue = { ...template, submission: submission({ config: { lr: [] } }) };
    expect(fill({ lr: 1 }, withoutValue)).toMatchObject({ detail: 'lr: the submission has no such value' });
  });
});

describe('submissionOfJob', () => {
  const payload = { config: { lr: 1 }, dataloader: null, files: {} };

  it('copies the settings that decide where and when a job runs, but not its name', () => {
    const job = makeJob(1);
    const copy = submissionOfJob({ ...job, approval: null }, payload);
    expect(SubmitRequest.parse(copy)).toEqual(copy);
    expect(copy).toMatchObject({ config: { lr: 1 }, requires_approval: false });
    expect(copy).not.toHaveProperty('name');
  });

  it('copies data, machines, limits and files', () => {
    const job = makeJob(1);
    const spec = {
      ...job.spec,
      configName: 'inline',
      timeoutMs: 60_000,
      requirements: { ...job.spec.requirements, nodes: 2, accelerator: 'cuda' },
    };
    const data = [{ path: '/p', version: 'a'.repeat(64), is_file: false, files: 1, bytes: 1 }];
    const copy = submissionOfJob(
      { ...job, spec, approval: 'given' },
      { ...payload, data, dataloader: [{ id: 'd' }], files: { f: 't' } },
    );
    expect(copy).toMatchObject({
      num_nodes: 2,
      accelerator: 'cuda',
      timeout_s: 60,
      requires_approval: true,
      data: [{ path: '/p', version: 'a'.repeat(64), is_file: false }],
      dataloader: [{ id: 'd' }],
      files: { f: 't' },
    });
    expect(copy).not.toHaveProperty('config_name');
    const specWithName = {
      ...spec,
      configName: 'flux',
      timeoutMs: null,
      requirements: { ...spec.requirements, accelerator: null },
    };
    expect(submissionOfJob({ ...job, spec: specWithName }, payload)).toMatchObject({ config_name: 'flux' });
  });
});

describe('withBundle', () => {
  it('adds a config and its files to a submission', () =>
    expect(withBundle(submission({}), { config: { a: 1 }, dataloader: { b: 1 }, files: {} })).toEqual(
      submission({ config: { a: 1 }, dataloader: { b: 1 } }),
    ));
});
