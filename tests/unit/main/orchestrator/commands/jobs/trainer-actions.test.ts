/** Requests of people to a running trainer: a checkpoint, samples. T = 120 s. */
import { describe, expect, test } from 'vitest';
import { SubmitRequest } from '../../../../../../protocol/queue-api.ts';
import { openFleet } from '../../../../../support/fleet-bench.ts';
import { ada, bob } from '../../../../../support/fleet.ts';
import { refusalOf, valueOf } from '../../../../../support/fleet-outcome.ts';
import { lastRow } from '../../queue-bench.ts';

const config = { $requests: { save: { signal: 'SIGUSR1' }, sample: { file: 'sample.now' } } };

/** A rig whose trainer can be asked. */
async function openRunning(parts: { readonly config?: object; readonly protocol?: 1 | 2 } = {}) {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker({ agent: { protocol: parts.protocol ?? 2 } });
  const job = await fleet.runJob(rig, { config: { ...(parts.config ?? config) } });
  const ask = async (what: 'save' | 'sample' = 'save', by = bob) => {
    const outcome = await fleet.orchestrator.jobs.requestAction(job, what, by);
    await fleet.clock.settle();
    return outcome;
  };
  return { fleet, rig, job, ask };
}

describe('a trainer is asked', () => {
  test('by a word on the stream that names neither signal nor file; it is told, and written down', async () => {
    const { fleet, rig, job, ask } = await openRunning();
    const { attempts } = fleet.job(job);
    expect(valueOf(await ask('save'))).toMatchObject({
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

  test('once for clicks that come within five seconds, and for each thing by itself', async () => {
    const { fleet, rig, ask } = await openRunning();
    await ask('save');
    const before = fleet.events.length;
    expect(valueOf(await ask('save'))).toMatchObject({ duplicate: true });
    expect(fleet.events).toHaveLength(before);
    expect(valueOf(await ask('sample'))).toMatchObject({ duplicate: false });
    await fleet.clock.advance(4_999);
    expect(valueOf(await ask('save', ada))).toMatchObject({ duplicate: true });
    await fleet.clock.advance(1);
    expect(valueOf(await ask('save'))).toMatchObject({ duplicate: false });
    expect(rig.commandsOf('job_ask').map(({ what }) => what)).toEqual(['save', 'sample', 'save']);
  });

  test('anew in the next attempt, however soon', async () => {
    const { fleet, rig, job, ask } = await openRunning();
    await ask('save');
    await rig.report(job, 'failed', { cause: 'preempted' });
    await fleet.clock.advance(1_000);
    if (fleet.job(job).status === 'pending') await fleet.clock.advance(60_000);
    await rig.run(job);
    expect(valueOf(await ask('save'))).toMatchObject({ duplicate: false });
    expect(new Set(rig.commandsOf('job_ask').map(each => each.attempt_id)).size).toBe(2);
  });
});

describe('what can be asked for', () => {
  test('stands in the view of a job, and survives a restart', async () => {
    const { fleet, job } = await openRunning({ config: { $requests: { sample: { file: 'now' } } } });
    expect(fleet.job(job).requests).toEqual(['sample']);
    await fleet.restart();
    expect(fleet.job(job).requests).toEqual(['sample']);
  });

  test('is the same for a job that is submitted again', async () => {
    const { fleet, rig, job } = await openRunning();
    await rig.report(job, 'completed');
    const again = valueOf(await fleet.orchestrator.jobs.retry(job, ada));
    expect(again.status === 'rejected' ? [] : fleet.job(again.jobId).requests).toEqual(['save', 'sample']);
  });

  test.each([
    ['SimpleTuner', { model_family: 'flux' }, ['save', 'sample']],
    ['OneTrainer', { training_method: 'LORA', model_type: 'SDXL', concepts: [] }, ['save', 'sample']],
    ['an unknown program', { lr: 1 }, []],
    ['the self-test', { trainer: 'selftest' }, []],
  ])('of a config without $requests depends on its trainer: %s', async (_what, given, kinds) => {
    const fleet = await openFleet();
    await fleet.addIdleWorker({ agent: { gpus: 1 } });
    const answer = await fleet.submit({ config: given });
    expect(fleet.job(answer.jobId).requests).toEqual(kinds);
  });

  test.each(['submit', 'dryRun'] as const)('has to be readable: %s', async call => {
    const fleet = await openFleet();
    const request = SubmitRequest.parse({ config: { $requests: { save: { signal: 'SIGKILL' } } } });
    const outcome = await fleet.orchestrator.jobs[call](request, ada);
    expect(refusalOf(outcome)).toEqual({ code: 'config_invalid' });
    expect(outcome.ok ? '' : outcome.refusal.detail).toBe(
      '$requests.save.signal in the config cannot be read: expected one of SIGUSR1, SIGUSR2, SIGHUP, SIGWINCH',
    );
  });
});

describe('nothing is asked', () => {
  test('of a job that is not there', async () => {
    const { fleet, ask, job, rig } = await openRunning();
    await rig.report(job, 'completed');
    valueOf(await fleet.orchestrator.jobs.remove(job, ada));
    expect(refusalOf(await ask())).toEqual({ code: 'job_not_found' });
  });

  test.each(['completed', 'failed', 'cancelled'] as const)('of one that has ended: %s', async status => {
    const { fleet, ask, job, rig } = await openRunning();
    if (status === 'cancelled') await fleet.orchestrator.jobs.cancel(job, ada);
    await rig.report(job, status);
    expect(fleet.job(job).status).toBe(status);
    expect(refusalOf(await ask())).toEqual({ code: 'job_not_running' });
  });

  test('of one that waits, has only been offered, starts, or is being cancelled', async () => {
    const fleet = await openFleet();
    const { jobId: job } = await fleet.submit({ config });
    const statuses: string[] = [];
    const refused = async () => {
      statuses.push(fleet.job(job).status);
      return refusalOf(await fleet.orchestrator.jobs.requestAction(job, 'save', ada)).code;
    };
    const codes = [await refused()];
    const rig = await fleet.addIdleWorker();
    codes.push(await refused());
    await rig.report(job, 'starting');
    codes.push(await refused());
    await rig.report(job, 'running');
    await fleet.orchestrator.jobs.cancel(job, ada);
    codes.push(await refused());
    expect(statuses).toEqual(['pending', 'dispatched', 'starting', 'cancelling']);
    expect(new Set(codes)).toEqual(new Set(['job_not_running']));
    expect(rig.commandsOf('job_ask')).toEqual([]);
  });

  test('that its config says nothing of: the answer says what to put there', async () => {
    const { fleet, ask, job } = await openRunning({ config: { $requests: { save: { file: 'save.now' } } } });
    const outcome = await ask('sample');
    expect(refusalOf(outcome)).toEqual({ code: 'request_unknown' });
    expect(outcome.ok ? '' : outcome.refusal.detail).toContain(
      '"$requests": {"sample": {"signal": "SIGUSR1"}}',
    );
    expect(fleet.trail(job)).not.toContain('job.asked');
  });

  test("of SimpleTuner's own agent", async () => {
    const { rig, ask } = await openRunning({ protocol: 1 });
    expect(refusalOf(await ask())).toEqual({ code: 'worker_unable' });
    expect(rig.commandsOf('job_ask')).toEqual([]);
  });

  test('while its worker is not connected; when it is back, it is', async () => {
    const { fleet, rig, job, ask } = await openRunning();
    await rig.stream.drop();
    expect(refusalOf(await ask())).toEqual({ code: 'worker_not_connected' });
    await fleet.clock.advance(130_000);
    expect(fleet.job(job).status).toBe('recovering');
    expect(refusalOf(await ask())).toEqual({ code: 'worker_not_connected' });
    expect(fleet.trail(job)).not.toContain('job.asked');
    await rig.connect({ currentJobId: job });
    await rig.beat(job);
    expect(fleet.job(job).status).toBe('running');
    expect(valueOf(await ask())).toMatchObject({ duplicate: false });
  });
});
