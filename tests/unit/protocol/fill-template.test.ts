import { describe, expect, it } from 'vitest';
import { fillTemplate } from '../../../protocol/fill-template.ts';
import { SubmitRequest } from '../../../protocol/submission.ts';
import { TemplateParameter, TemplateSubmit } from '../../../protocol/template.ts';

// The config names its dataloader, as in SimpleTuner's documentation.
const submission = SubmitRequest.parse({
  config_name: 'flux',
  config: { '--learning_rate': 1e-4, lora_rank: 16, data_backend_config: 'backend.json' },
  dataloader: [{ id: 'photos', instance_data_dir: '/data/dog', resolution: 1024 }],
  files: { 'lycoris.json': '{"linear_dim": 16}' },
  tags: ['lora'],
});
const parameters = [
  { key: 'learning_rate', type: 'number', default: 1e-4 },
  { key: '0.instance_data_dir', document: 'dataloader' },
  { key: 'linear_dim', document: 'file', file: 'lycoris.json', type: 'integer', default: 16 },
  { key: 'gpu_count', document: 'job', type: 'integer', default: 1 },
].map(parameter => TemplateParameter.parse(parameter));

/** Fills the template with this request. The fake file editor cannot find the key `lost`. */
const fill = (request: object, moreParameters: readonly object[] = []) =>
  fillTemplate(
    {
      submission,
      parameters: [...parameters, ...moreParameters.map(parameter => TemplateParameter.parse(parameter))],
    },
    TemplateSubmit.parse(request),
    ({ path, text }, { key }, value) => (key === 'lost' ? null : `${path} ${text} ${key}=${String(value)}`),
  );

describe('fillTemplate', () => {
  it('writes the values into the config, the dataloader, the files and the settings of the job', () => {
    const filled = fill({
      values: { learning_rate: '3e-4', '0.instance_data_dir': '/data/cat', gpu_count: '2' },
      name: 'cat',
      tags: ['cat', 'lora'],
    });
    expect(filled).toEqual({
      ok: true,
      submission: {
        ...submission,
        config: { '--learning_rate': 3e-4, lora_rank: 16, data_backend_config: 'backend.json' },
        dataloader: [{ id: 'photos', instance_data_dir: '/data/cat', resolution: 1024 }],
        files: { 'lycoris.json': 'lycoris.json {"linear_dim": 16} linear_dim=16' },
        gpu_count: 2,
        name: 'cat',
        tags: ['lora', 'cat'],
      },
    });
  });

  it('reports all problems of a request, and returns no submission', () => {
    const withoutPlace = [
      { key: 'lora_rank.x', default: 'a' },
      { key: '5.x', document: 'dataloader', default: 'a' },
      { key: 'x', document: 'file', file: 'lost.json', default: 'a' },
      { key: 'lost', document: 'file', file: 'lycoris.json', default: 'a' },
    ];
    expect(fill({ values: { seed: 1, learning_rate: 'fast' } }, withoutPlace)).toEqual({
      ok: false,
      problems: [
        { key: 'seed', problem: 'unknown' },
        { key: 'learning_rate', problem: 'not_number' },
        { key: '0.instance_data_dir', problem: 'missing' },
        ...withoutPlace.map(({ key }) => ({ key, problem: 'no_place' })),
      ],
    });
  });

  it('writes a number as text when the config has a text at this key', () => {
    const withText = SubmitRequest.parse({ config: { resolution: '512' } });
    const resolution = [TemplateParameter.parse({ key: 'resolution', type: 'integer' })];
    const request = { values: { resolution: 768 }, dry_run: false };
    expect(fillTemplate({ submission: withText, parameters: resolution }, request, () => null)).toMatchObject(
      {
        submission: { config: { resolution: '768' } },
      },
    );
  });

  it('reports a value that is not valid for a job', () => {
    const values = { '0.instance_data_dir': '/data', gpu_count: 5_000 };
    expect(fill({ values })).toEqual({
      ok: false,
      problems: [{ key: 'gpu_count', problem: 'refused', message: expect.any(String) as string }],
    });
  });

  it('adds a config to a submission without a config, and reports a parameter of a missing file', () => {
    const bare = SubmitRequest.parse({ config_name: 'x' });
    const request = { values: {}, dry_run: false };
    const fillBare = (parameter: TemplateParameter) =>
      fillTemplate({ submission: bare, parameters: [parameter] }, request, () => '');
    const configParameter = TemplateParameter.parse({
      key: 'k',
      document: 'config',
      file: null,
      default: 'v',
    });
    const fileParameter = TemplateParameter.parse({ key: 'k', document: 'file', file: 'f', default: 'v' });
    const parameterWithoutFile = {
      ...TemplateParameter.parse({ key: 'k', default: 'v' }),
      document: 'file' as const,
    };
    expect(fillBare(configParameter)).toEqual({ ok: true, submission: { ...bare, config: { k: 'v' } } });
    expect(fillBare(fileParameter)).toMatchObject({ ok: false });
    expect(fillBare(parameterWithoutFile)).toMatchObject({ ok: false });
  });
});
