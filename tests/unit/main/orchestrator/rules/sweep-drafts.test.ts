import { describe, expect, it } from 'vitest';
import { prepareSweep } from '../../../../../main/orchestrator/rules/sweep-drafts.ts';
import { accept, type Outcome, refuse } from '../../../../../protocol/problem.ts';
import { SweepRequest } from '../../../../../protocol/sweep.ts';

const noConfigs = { load: async () => refuse('config_not_found', 'There is no such config') };
const valueOf = <T>(outcome: { readonly ok: true; readonly value: T } | { readonly ok: false }): T => {
  if (!outcome.ok) throw new Error('refused');
  return outcome.value;
};

describe('prepareSweep', () => {
  const bundle = {
    config: { model_type: 'lora', lr: 1 },
    dataloader: [{ id: 'a' }],
    files: { 'a.txt': 'a' },
  };
  const sweep = [{ key: 'lr', values: [2, 3] }];
  const drafts = (request: object, load = noConfigs.load as () => Promise<Outcome<typeof bundle>>) =>
    prepareSweep({ load }, SweepRequest.parse({ sweep, ...request }), 'g');

  it('builds a draft for each combination from a config that is loaded once', async () => {
    let loads = 0;
    const load = async () => {
      loads += 1;
      return accept(bundle);
    };
    const found = valueOf(await drafts({ config_name: 'flowers', tags: ['t'], notes: ' ' }, load));
    expect(loads).toBe(1);
    expect(found.map(({ payload }) => payload)).toEqual(
      [2, 3].map(lr => ({ ...bundle, config: { model_type: 'lora', lr } })),
    );
    expect(found.map(({ spec }) => spec.about)).toEqual([
      { name: 'flowers lr=2', tags: ['t'], group: 'g', sweep: { lr: 2 }, template: null },
      { name: 'flowers lr=3', tags: ['t'], group: 'g', sweep: { lr: 3 }, template: null },
    ]);
    expect(found[0]?.notes).toBeNull();
  });

  it('starts the name of each job with the name in the request', async () => {
    const [first] = valueOf(await drafts({ config: {}, name: 'n', notes: 'why' }));
    expect(first).toMatchObject({ spec: { about: { name: 'n lr=2' } }, notes: 'why' });
  });

  it.each<[string, object, string]>([
    ['whose config cannot be loaded', { config_name: 'lost' }, 'config_not_found'],
    [
      'with a key that the config does not have',
      { config: {}, sweep: [{ key: 'a.b', values: [1] }] },
      'config_invalid',
    ],
    [
      'with a value that the config cannot have',
      { config: {}, sweep: [{ key: 'num_processes', values: ['two'] }] },
      'config_invalid',
    ],
    ['that would store too much', { config: { text: 'x'.repeat(16_000_000) } }, 'invalid_request'],
  ])('refuses a sweep %s', async (_what, request, code) => {
    expect(await drafts(request)).toMatchObject({ ok: false, refusal: { code } });
  });
});
