import { describe, expect, it } from 'vitest';
import { gpusWanted, prepare, withData } from '../../../../../main/orchestrator/rules/drafts.ts';
import type { JobData } from '../../../../../protocol/dataset.ts';
import { accept, refuse } from '../../../../../protocol/problem.ts';
import { SubmitRequest } from '../../../../../protocol/queue-api.ts';

const noConfigs = { load: async () => refuse('config_not_found', 'There is no such config') };
const valueOf = <T>(outcome: { readonly ok: true; readonly value: T } | { readonly ok: false }): T => {
  if (!outcome.ok) throw new Error('refused');
  return outcome.value;
};
const draft = async (request: unknown) => prepare(noConfigs, SubmitRequest.parse(request));

describe('prepare', () => {
  it('builds a draft from a config in the request, without loading a config file', async () => {
    const { spec, payload } = valueOf(await draft({ config: { model_type: 'lora' }, timeout_s: 1.5 }));
    expect(spec).toMatchObject({ configName: 'inline', timeoutMs: 1_500, devices: null });
    expect(payload).toEqual({ config: { model_type: 'lora' }, dataloader: null, files: {} });
  });

  it('loads a config by its name', async () => {
    const bundle = { config: { model_type: 'lora' }, dataloader: null, files: {} };
    const request = SubmitRequest.parse({ config_name: 'flowers' });
    const { spec } = valueOf(await prepare({ load: async () => accept(bundle) }, request));
    expect(spec.configName).toBe('flowers');
  });

  it('returns the refusal when a config cannot be loaded', async () => {
    expect(await draft({ config_name: 'lost' })).toMatchObject({ refusal: { code: 'config_not_found' } });
  });

  it('refuses a request with neither a config nor a name', async () => {
    const request = { ...SubmitRequest.parse({ config_name: 'x' }), config_name: undefined };
    expect(await prepare(noConfigs, request)).toMatchObject({ ok: false });
  });

  it.each([{ num_processes: 'two' }, { $requests: { save: { signal: 'SIGKILL' } } }])(
    'refuses the config %j, because its number of GPUs or its $requests cannot be read',
    async config => {
      expect(await draft({ config })).toMatchObject({ ok: false, refusal: { code: 'config_invalid' } });
    },
  );

  it('requires GPUs up to the highest index that the config names, and counts how many the job uses', async () => {
    const { spec } = valueOf(await draft({ config: { accelerate_visible_devices: [2, 0] } }));
    expect(spec.requirements).toMatchObject({ gpuCount: 3, gpusUsed: 2 });
  });

  it('stores the number of machines only for a job on several machines', async () => {
    const requirementsFor = async (num_nodes?: number) =>
      valueOf(await draft({ config: {}, ...(num_nodes !== undefined && { num_nodes }) })).spec.requirements;
    expect(await requirementsFor(2)).toMatchObject({ nodes: 2 });
    expect(await requirementsFor(1)).not.toHaveProperty('nodes');
    expect(await requirementsFor()).not.toHaveProperty('nodes');
  });

  it('requires no GPU and no trainer for a built-in program', async () => {
    const { spec } = valueOf(await draft({ config: { trainer: 'selftest', seconds: 1 } }));
    expect(spec.requirements).toMatchObject({ gpuCount: 0 });
    expect(spec.requirements).not.toHaveProperty('trainer');
  });

  it('refuses a config that its trainer would refuse', async () => {
    const outcome = await draft({ config: { job: 'extension', config: {} } });
    expect(outcome).toMatchObject({ ok: false, refusal: { code: 'config_invalid' } });
  });

  it('removes the GPUs that a config names when the job may run on any GPU', async () => {
    const config = { model_type: 'lora', '--accelerate_visible_devices': [3] };
    const { payload, spec } = valueOf(await draft({ config, any_gpu: true }));
    expect(payload.config).toEqual({ model_type: 'lora' });
    expect(spec.devices).toBeNull();
  });
});

describe('gpusWanted', () => {
  const countGpus = (config: Readonly<Record<string, unknown>>, request: Partial<SubmitRequest> = {}) =>
    gpusWanted({ any_gpu: false, gpu_count: undefined, ...request }, config);

  it('prefers the GPU count of the request to the GPU count of the config', () => {
    expect(countGpus({ num_processes: 4 }, { gpu_count: 2 })).toEqual(accept({ count: 2, devices: null }));
    expect(countGpus({ '--num_processes': '4' })).toEqual(accept({ count: 4, devices: null }));
  });

  it('requires a worker that has every GPU that the config names', () => {
    const config = { num_processes: 1, accelerate_visible_devices: ['2', 0] };
    expect(countGpus(config)).toEqual(accept({ count: 3, devices: [2, 0] }));
    expect(countGpus({ accelerate_visible_devices: 5 })).toMatchObject({ value: { count: 6, devices: [5] } });
  });

  it.each([{ num_processes: 'two' }, { num_processes: -1 }, { num_processes: '' }, { num_processes: 1025 }])(
    'refuses %j as a number of GPUs',
    config => {
      expect(countGpus(config)).toMatchObject({ ok: false, refusal: { code: 'config_invalid' } });
    },
  );

  it.each([[['a']], [[]], [[0, null]]])('refuses %j as a list of GPUs', accelerate_visible_devices => {
    expect(countGpus({ accelerate_visible_devices })).toMatchObject({ ok: false });
  });
});

describe('a config that refers to an input', () => {
  it.each([
    { config: { lora: '{{inputs.lora}}' }, inputs: [{ name: 'base', from: 'j_1' }] },
    { config: { lora: 1 }, dataloader: [{ id: '{{inputs.lora}}' }] },
  ])('refuses a config that refers to an input which the job does not have: %j', async request => {
    expect(await draft(request)).toMatchObject({
      refusal: { code: 'config_invalid', detail: expect.stringContaining('{{inputs.lora}}') },
    });
  });

  it('refuses a config whose $resume is not an input of the job', async () => {
    const request = { config: { $resume: '/data/checkpoint-500' }, inputs: [{ name: 'lora', from: 'j_1' }] };
    expect(await draft(request)).toMatchObject({
      refusal: { detail: '$resume in the config must be an input of the job, such as {{inputs.base}}' },
    });
    const from = { ...request, config: { $resume: '{{inputs.lora}}' } };
    expect((await draft(from)).ok).toBe(true);
  });

  it('accepts a config that refers to an input of the job', async () => {
    const request = { config: { lora: '{{inputs.lora}}' }, inputs: [{ name: 'lora', from: 'j_1' }] };
    expect((await draft(request)).ok).toBe(true);
  });
});

describe('withData', () => {
  it('requires each dataset version once', async () => {
    const version = 'a'.repeat(64);
    const data = { version } as JobData;
    const draftWithData = withData(valueOf(await draft({ config: { model_type: 'lora' } })), [data, data]);
    expect(draftWithData.spec.requirements.data).toEqual([version]);
    expect(draftWithData.payload.data).toEqual([data, data]);
  });
});
