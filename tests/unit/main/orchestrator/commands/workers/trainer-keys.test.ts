import { describe, expect, test } from 'vitest';
import { SubmitRequest } from '../../../../../../protocol/queue-api.ts';
import { openFleet } from '../../../../../support/fleet-bench.ts';
import { valueOf } from '../../../../../support/fleet-outcome.ts';
import { ada, type Fleet } from '../../../../../support/fleet.ts';

const simpletuner = (version: string | null = '4.2.0') => [{ name: 'simpletuner', version }];
// The trainer does not know `zzz` and the misspelled key.
const config = { model_family: 'flux', lerning_rate: 0.1, zzz: 1 };
const keys = ['model_family', 'learning_rate', 'seed'];

const warningsOf = async (fleet: Fleet, jobConfig: Readonly<Record<string, unknown>> = config) => {
  const request = SubmitRequest.parse({ config: jobConfig, gpu_count: 0, dry_run: true });
  return valueOf(await fleet.orchestrator.jobs.dryRun(request, ada)).warnings;
};

describe('trainer keys that workers report', () => {
  test('requests the keys of a trainer from one worker, and a minute later from another worker', async () => {
    const fleet = await openFleet();
    const [first, second] = [await fleet.addWorker(), await fleet.addWorker()];
    expect(await first.register({ trainers: simpletuner() })).toMatchObject({
      trainer_keys_wanted: ['simpletuner'],
    });
    expect(await second.register({ trainers: simpletuner() })).not.toHaveProperty('trainer_keys_wanted');
    await fleet.clock.advance(60_000);
    expect(await second.register({ trainers: simpletuner() })).toMatchObject({
      trainer_keys_wanted: ['simpletuner'],
    });
    valueOf(fleet.orchestrator.workers.reportTrainerKeys(second.id, { trainer: 'simpletuner', keys }));
    await fleet.clock.advance(60_000);
    expect(await first.register({ trainers: simpletuner() })).not.toHaveProperty('trainer_keys_wanted');
  });

  test('requests trainer keys again for another trainer version, and never for plain commands', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addWorker();
    await rig.register({ trainers: simpletuner() });
    const command = { name: 'command', version: null };
    expect(await rig.register({ trainers: [...simpletuner('4.3.0'), command] })).toMatchObject({
      trainer_keys_wanted: ['simpletuner'],
    });
    expect(await rig.register({ trainers: [command] })).not.toHaveProperty('trainer_keys_wanted');
  });

  test('refuses keys of a trainer that the worker does not have', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ agent: { trainers: simpletuner() } });
    for (const trainer of ['kohya', 'command'])
      expect(fleet.orchestrator.workers.reportTrainerKeys(rig.id, { trainer, keys })).toMatchObject({
        ok: false,
        refusal: { code: 'not_registered' },
      });
    expect(await warningsOf(fleet)).toEqual([]);
  });

  test('keeps the keys of the newest eight versions of a trainer', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addWorker();
    for (let n = 0; n < 9; n++) {
      await rig.register({ trainers: simpletuner(`4.${n}`) });
      // Only the first version knows all keys of the config.
      const versionKeys = n === 0 ? Object.keys(config) : keys;
      valueOf(
        fleet.orchestrator.workers.reportTrainerKeys(rig.id, { trainer: 'simpletuner', keys: versionKeys }),
      );
      // The ninth version displaces the first version, so that the config gets warnings.
      expect((await warningsOf(fleet)).length > 0).toBe(n === 8);
    }
  });
});

describe('warnings about unknown config keys', () => {
  test('suggests the intended key in the dry run, the submit response and the job', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ agent: { trainers: simpletuner() } });
    expect(await warningsOf(fleet)).toEqual([]);
    valueOf(fleet.orchestrator.workers.reportTrainerKeys(rig.id, { trainer: 'simpletuner', keys }));
    const expectedWarnings = await warningsOf(fleet);
    expect(expectedWarnings).toEqual([
      {
        code: 'config_key_refused',
        worker_name: '',
        trainer: 'SimpleTuner',
        key: 'lerning_rate',
        nearest_key: 'learning_rate',
        message:
          'SimpleTuner does not know the key "lerning_rate" and will not start with it. Did you mean "learning_rate"?',
      },
      expect.objectContaining({
        key: 'zzz',
        nearest_key: null,
        message:
          'SimpleTuner does not know the key "zzz" and will not start with it. Remove it, or check its spelling',
      }),
    ]);
    const { jobId, warnings } = await fleet.submit({ config, gpu_count: 0 });
    expect(warnings).toEqual(expectedWarnings);
    expect(fleet.job(jobId).warnings).toEqual(expectedWarnings);
    expect(await warningsOf(fleet, { model_family: 'flux', learning_rate: 0.1 })).toEqual([]);
  });

  test('warns that OneTrainer ignores an unknown key', async () => {
    const fleet = await openFleet();
    const trainers = [{ name: 'onetrainer', version: null }];
    const rig = await fleet.addIdleWorker({ agent: { trainers } });
    const knownConfig = { training_method: 'LORA', model_type: 'SD', concepts: [] };
    valueOf(
      fleet.orchestrator.workers.reportTrainerKeys(rig.id, {
        trainer: 'onetrainer',
        keys: [...Object.keys(knownConfig), 'epochs'],
      }),
    );
    expect(await warningsOf(fleet, { ...knownConfig, epochss: 3 })).toMatchObject([
      {
        code: 'config_key_ignored',
        message: 'OneTrainer does not know the key "epochss" and ignores it. Did you mean "epochs"?',
      },
    ]);
  });

  test('returns at most ten warnings about unknown config keys', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ agent: { trainers: simpletuner() } });
    valueOf(fleet.orchestrator.workers.reportTrainerKeys(rig.id, { trainer: 'simpletuner', keys }));
    const unknownKeys: Record<string, number> = {};
    for (let n = 0; n < 30; n++) unknownKeys[`unknown_${n}`] = n;
    expect(await warningsOf(fleet, { model_family: 'flux', ...unknownKeys })).toHaveLength(10);
  });
});
