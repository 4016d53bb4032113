import { describe, expect, test } from 'vitest';
import type { Actor, ConfigChange } from '../../../../../../main/orchestrator/ports/index.ts';
import { JobId } from '../../../../../../protocol/ids.ts';
import { accept, refuse } from '../../../../../../protocol/problem.ts';
import { openFleet } from '../../../../../support/fleet-bench.ts';
import type { Fleet } from '../../../../../support/fleet.ts';
import { refusalOf } from '../../../../../support/fleet-outcome.ts';

const ada: Actor = { type: 'admin', id: 'ada', address: '10.0.0.1' };
const change: ConfigChange = { what: 'replaced', name: 'lora', file: 'lora.json', tag: 'abc', bytes: 12 };

const configRows = (fleet: Fleet) =>
  fleet
    .audit()
    .filter(({ type }) => type.startsWith('config.'))
    .map(({ type, target_type: targetType, target_id: id, actor_id: actor, details }) => ({
      type,
      target: `${targetType} ${id}`,
      actor,
      details: JSON.parse(details) as unknown,
    }));

describe('audit rows of config changes', () => {
  test('records the audit row before the config is changed', async () => {
    const fleet = await openFleet();
    const rowsBeforeChange: unknown[] = [];
    const outcome = await fleet.orchestrator.files.changeConfig(ada, async record => {
      await record(change);
      rowsBeforeChange.push(...configRows(fleet));
      return accept(change);
    });
    expect(outcome).toEqual({ ok: true, value: change });
    const row = {
      type: 'config.replaced',
      target: 'config lora',
      actor: 'ada',
      details: { file: 'lora.json', bytes: 12, content: 'abc' },
    };
    expect(rowsBeforeChange).toEqual([row]);
    expect(configRows(fleet)).toEqual([row]);
  });

  test('records a second audit row when the announced change fails', async () => {
    const fleet = await openFleet();
    const outcome = await fleet.orchestrator.files.changeConfig(ada, async record => {
      await record(change);
      return refuse('storage', 'full');
    });
    expect(refusalOf(outcome).code).toBe('storage');
    expect(configRows(fleet).map(({ type }) => type)).toEqual(['config.replaced', 'config.change_failed']);
  });

  test('records no audit row when the config change is refused', async () => {
    const fleet = await openFleet();
    await fleet.orchestrator.files.changeConfig(ada, () => Promise.resolve(refuse('config_changed', 'late')));
    expect(configRows(fleet)).toEqual([]);
  });

  test('does not change the config when the audit row cannot be written', async () => {
    const fleet = await openFleet();
    await fleet.setDiskFull(true);
    let isChanged = false;
    const attempt = fleet.orchestrator.files.changeConfig(ada, async record => {
      await record(change);
      isChanged = true;
      return accept(change);
    });
    await expect(attempt).rejects.toThrow('database or disk is full');
    await fleet.setDiskFull(false);
    expect(isChanged).toBe(false);
    expect(configRows(fleet)).toEqual([]);
  });
});

describe('the stored config of a job', () => {
  test('keeps the submitted config of a job for a retry', async () => {
    let lr = 1;
    const fleet = await openFleet({
      configs: { load: () => Promise.resolve(accept({ config: { lr }, dataloader: [lr], files: {} })) },
    });
    const { jobId } = await fleet.submit({ config_name: 'lora', config: undefined });
    lr = 2;
    const submitted = { configName: 'lora', config: { lr: 1 }, dataloader: [1], files: {} };
    expect(fleet.orchestrator.jobs.config(jobId)).toEqual({ ok: true, value: submitted });
    await fleet.cancel(jobId);
    const outcome = await fleet.orchestrator.jobs.retry(jobId, ada);
    if (!outcome.ok || !('jobId' in outcome.value)) throw new Error('the retry was not accepted');
    const retried = outcome.value.jobId;
    expect(retried).not.toBe(jobId);
    expect(fleet.orchestrator.jobs.config(retried)).toEqual({ ok: true, value: submitted });
  });

  test('stores the dataloader that was submitted with the config', async () => {
    const fleet = await openFleet();
    const { jobId } = await fleet.submit({ config: { lr: 1 }, dataloader: [{ id: 'images' }] });
    expect(fleet.orchestrator.jobs.config(jobId)).toMatchObject({
      value: { dataloader: [{ id: 'images' }] },
    });
  });

  test('returns job_not_found for the config of an unknown job', async () => {
    const fleet = await openFleet();
    expect(refusalOf(fleet.orchestrator.jobs.config(JobId.parse('j_none'))).code).toBe('job_not_found');
  });
});
