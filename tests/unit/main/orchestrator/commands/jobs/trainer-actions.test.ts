// The heartbeat timeout is 120 s.
import { describe, expect, test } from 'vitest';
import { SubmitRequest } from '../../../../../../protocol/queue-api.ts';
import { openFleet } from '../../../../../support/fleet-bench.ts';
import { ada, bob } from '../../../../../support/fleet.ts';
import { refusalOf, valueOf } from '../../../../../support/fleet-outcome.ts';
import { lastRow } from '../../audit-rows.ts';

const config = { $requests: { save: { signal: 'SIGUSR1' }, sample: { file: 'sample.now' } } };

// Creates a running job whose trainer accepts actions.
async function openRunning(options: { readonly config?: object; readonly protocol?: 1 | 2 } = {}) {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker({ agent: { protocol: options.protocol ?? 2 } });
  const job = await fleet.runJob(rig, { config: { ...(options.config ?? config) } });
  const request = async (action: 'save' | 'sample' = 'save', user = bob) => {
    const outcome = await fleet.orchestrator.jobs.requestAction(job, action, user);
    await fleet.clock.settle();
    return outcome;
  };
  return { fleet, rig, job, request };
}

describe('requestAction', () => {
  test('sends the action to the worker without its signal or file, and records an event and an audit row', async () => {
    const { fleet, rig, job, request } = await openRunning();
    const { attempts } = fleet.job(job);
    expect(valueOf(await request('save'))).toMatchObject({
      duplicate: false,
      job: { id: job, status: 'running' },
    });
    expect(rig.commandsOf('job_ask')).toEqual([
      { type: 'job_ask', job_id: job, attempt_id: attempts[0]?.attempt_id, what: 'save' },
    ]);
    expect(fleet.trail(job).at(-1)).toBe('job.asked');
    expect(fleet.events.at(-1)).toMatchObject({ kind: 'job', type: 'job.asked', job_id: job, attempt: 1 });
    expect(lastRow(fleet)).toMatchObject({
      type: 'job.asked',
      actor_type: 'admin',
      actor_id: 'bob',
      target_id: job,
      details: { what: 'save', worker_id: rig.id, attempt: 1 },
    });
  });

  test('ignores a repeated action within five seconds, but not a different action', async () => {
    const { fleet, rig, request } = await openRunning();
    await request('save');
    const before = fleet.events.length;
    expect(valueOf(await request('save'))).toMatchObject({ duplicate: true });
    expect(fleet.events).toHaveLength(before);
    expect(valueOf(await request('sample'))).toMatchObject({ duplicate: false });
    await fleet.clock.advance(4_999);
    expect(valueOf(await request('save', ada))).toMatchObject({ duplicate: true });
    await fleet.clock.advance(1);
    expect(valueOf(await request('save'))).toMatchObject({ duplicate: false });
    expect(rig.commandsOf('job_ask').map(({ what }) => what)).toEqual(['save', 'sample', 'save']);
  });

  test('sends the same action again to the next attempt without delay', async () => {
    const { fleet, rig, job, request } = await openRunning();
    await request('save');
    await rig.report(job, 'failed', { cause: 'preempted' });
    await fleet.clock.advance(1_000);
    if (fleet.job(job).status === 'pending') await fleet.clock.advance(60_000);
    await rig.run(job);
    expect(valueOf(await request('save'))).toMatchObject({ duplicate: false });
    expect(new Set(rig.commandsOf('job_ask').map(({ attempt_id: id }) => id)).size).toBe(2);
  });
});

describe('actions that a job supports', () => {
  test('shows the supported actions of a job, also after a restart', async () => {
    const { fleet, job } = await openRunning({ config: { $requests: { sample: { file: 'now' } } } });
    expect(fleet.job(job).requests).toEqual(['sample']);
    await fleet.restart();
    expect(fleet.job(job).requests).toEqual(['sample']);
  });

  test('keeps the supported actions when the job is retried', async () => {
    const { fleet, rig, job } = await openRunning();
    await rig.report(job, 'completed');
    const retry = valueOf(await fleet.orchestrator.jobs.retry(job, ada));
    if (retry.status === 'rejected') throw new Error('the retry was rejected');
    expect(fleet.job(retry.jobId).requests).toEqual(['save', 'sample']);
  });

  test.each([
    ['SimpleTuner', { model_family: 'flux' }, ['save', 'sample']],
    ['OneTrainer', { training_method: 'LORA', model_type: 'SDXL', concepts: [] }, ['save', 'sample']],
    ['an unknown program', { lr: 1 }, []],
    ['the self-test', { trainer: 'selftest' }, []],
  ])(
    'derives the supported actions of a config without $requests from its trainer: %s',
    async (_trainer, jobConfig, actions) => {
      const fleet = await openFleet();
      await fleet.addIdleWorker({ agent: { gpus: 1 } });
      const answer = await fleet.submit({ config: jobConfig });
      expect(fleet.job(answer.jobId).requests).toEqual(actions);
    },
  );

  test.each(['submit', 'dryRun'] as const)('refuses an unreadable $requests in %s', async call => {
    const fleet = await openFleet();
    const request = SubmitRequest.parse({ config: { $requests: { save: { signal: 'SIGKILL' } } } });
    const outcome = await fleet.orchestrator.jobs[call](request, ada);
    expect(refusalOf(outcome)).toEqual({ code: 'config_invalid' });
    expect(outcome.ok ? '' : outcome.refusal.detail).toBe(
      '$requests.save.signal in the config cannot be read: expected one of SIGUSR1, SIGUSR2, SIGHUP, SIGWINCH',
    );
  });
});

describe('refused trainer actions', () => {
  test('returns job_not_found for a deleted job', async () => {
    const { fleet, request, job, rig } = await openRunning();
    await rig.report(job, 'completed');
    valueOf(await fleet.orchestrator.jobs.remove(job, ada));
    expect(refusalOf(await request())).toEqual({ code: 'job_not_found' });
  });

  test.each(['completed', 'failed', 'cancelled'] as const)(
    'returns job_not_running for a %s job',
    async status => {
      const { fleet, request, job, rig } = await openRunning();
      if (status === 'cancelled') await fleet.orchestrator.jobs.cancel(job, ada);
      await rig.report(job, status);
      expect(fleet.job(job).status).toBe(status);
      expect(refusalOf(await request())).toEqual({ code: 'job_not_running' });
    },
  );

  test('refuses actions for a pending, dispatched, starting or cancelling job', async () => {
    const fleet = await openFleet();
    const { jobId: job } = await fleet.submit({ config });
    const statuses: string[] = [];
    const requestSave = async () => {
      statuses.push(fleet.job(job).status);
      return refusalOf(await fleet.orchestrator.jobs.requestAction(job, 'save', ada)).code;
    };
    const codes = [await requestSave()];
    const rig = await fleet.addIdleWorker();
    codes.push(await requestSave());
    await rig.report(job, 'starting');
    codes.push(await requestSave());
    await rig.report(job, 'running');
    await fleet.orchestrator.jobs.cancel(job, ada);
    codes.push(await requestSave());
    expect(statuses).toEqual(['pending', 'dispatched', 'starting', 'cancelling']);
    expect(new Set(codes)).toEqual(new Set(['job_not_running']));
    expect(rig.commandsOf('job_ask')).toEqual([]);
  });

  test('explains how to declare an action that the config lacks', async () => {
    const { fleet, request, job } = await openRunning({
      config: { $requests: { save: { file: 'save.now' } } },
    });
    const outcome = await request('sample');
    expect(refusalOf(outcome)).toEqual({ code: 'request_unknown' });
    expect(outcome.ok ? '' : outcome.refusal.detail).toContain(
      '"$requests": {"sample": {"signal": "SIGUSR1"}}',
    );
    expect(fleet.trail(job)).not.toContain('job.asked');
  });

  test('returns worker_unable for the v1 agent', async () => {
    const { rig, request } = await openRunning({ protocol: 1 });
    expect(refusalOf(await request())).toEqual({ code: 'worker_unable' });
    expect(rig.commandsOf('job_ask')).toEqual([]);
  });

  test('returns worker_not_connected until the worker reconnects', async () => {
    const { fleet, rig, job, request } = await openRunning();
    await rig.stream.drop();
    expect(refusalOf(await request())).toEqual({ code: 'worker_not_connected' });
    await fleet.clock.advance(130_000);
    expect(fleet.job(job).status).toBe('recovering');
    expect(refusalOf(await request())).toEqual({ code: 'worker_not_connected' });
    expect(fleet.trail(job)).not.toContain('job.asked');
    await rig.connect({ currentJobId: job });
    await rig.beat(job);
    expect(fleet.job(job).status).toBe('running');
    expect(valueOf(await request())).toMatchObject({ duplicate: false });
  });
});
