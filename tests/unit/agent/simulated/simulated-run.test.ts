/** Tests that the simulated trainer and the simulated network behave like a real trainer and a real network. */
import { describe, expect, it } from 'vitest';
import type { ApiClient } from '../../../../agent/connection/api-client.ts';
import { breakable } from '../../../../agent/simulated/simulated-worker.ts';
import type { StreamDeps } from '../../../../agent/connection/command-stream.ts';
import { type SimulatedTraining, simulateRun } from '../../../../agent/simulated/simulated-job.ts';
import { WorkerId } from '../../../../protocol/ids.ts';
import { createVirtualClock } from '../../../support/virtual-clock.ts';
import { attemptId, jobId } from '../builders.ts';

function startRun(onLostContact: 'continue' | 'stop') {
  const clock = createVirtualClock();
  const exited = Promise.withResolvers<Awaited<SimulatedTraining['exited']>>();
  const stops: number[] = [];
  const startedAt = clock.mono();
  const contactAt = (ms: number) => ({ sentAt: startedAt + ms, timeoutMs: 10_000, graceMs: 1_000 });
  const run = simulateRun(
    { jobId: jobId('j1'), attemptId: attemptId('a1'), configName: 'x', onLostContact, contact: contactAt(0) },
    { onProgress: () => {}, onFigures: () => {}, onLine: () => {} },
    {
      clock,
      job: { configName: 'x', config: {}, uploadToken: null },
      trainer: () => ({
        exited: exited.promise,
        stop() {
          stops.push(clock.mono() - startedAt);
          exited.resolve({ code: null, signal: 'SIGTERM', tail: 'last line' });
        },
      }),
    },
  );
  return { clock, run, stops, contactAt, end: exited.resolve };
}

const killed = { code: null, signal: 'SIGTERM', tail: 'last line', startError: null };

describe('simulated run', () => {
  it('obeys only the first of two stop orders', async () => {
    const { run } = startRun('continue');
    run.stop('cancel', 0);
    run.stop('leave_now', 0);
    expect(await run.finished).toEqual({ ...killed, stopped: 'cancel' });
  });

  it('continues a run with on_lost_contact: continue after contact is lost', async () => {
    const { clock, run, stops, end } = startRun('continue');
    await clock.advance(60_000);
    expect(stops).toEqual([]);
    end({ code: 0, signal: null, tail: '' });
    expect(await run.finished).toEqual({ code: 0, signal: null, tail: '', startError: null, stopped: null });
  });

  it('stops a run with on_lost_contact: stop when the heartbeat timeout has passed since the last contact', async () => {
    const { clock, run, stops, contactAt } = startRun('stop');
    await clock.advance(6_000);
    run.contact(contactAt(5_000));
    await clock.advance(60_000);
    expect(stops).toEqual([15_000]);
    expect(await run.finished).toEqual({ ...killed, stopped: 'lost_contact' });
  });

  it('stops the simulated trainer when the agent stops following the run', async () => {
    const { run, stops } = startRun('continue');
    run.leave();
    expect(stops).toHaveLength(1);
  });
});

function createNetwork() {
  const calls: string[] = [];
  const streams: StreamDeps[] = [];
  const answer = async (name: string) => {
    calls.push(name);
    return { ok: true, value: { success: true } } as never;
  };
  const api: ApiClient = {
    register: () => answer('register'),
    beat: () => answer('beat'),
    report: () => answer('report'),
    uploadPoints: () => answer('uploadPoints'),
    disconnect: () => answer('disconnect'),
  };
  const network = breakable(api, deps => {
    streams.push(deps);
    if (deps.signal.aborted) return Promise.resolve('aborted');
    return new Promise(resolve => {
      deps.signal.addEventListener('abort', () => resolve('aborted'), { once: true });
    });
  });
  const abort = new AbortController();
  const follow = () =>
    network.followStream({
      url: '',
      token: () => '',
      silenceMs: 1,
      onOpen: () => {},
      onRefused: () => {},
      onCommand: () => {},
      signal: abort.signal,
    });
  return { ...network, calls, abort, follow };
}

describe('simulated network', () => {
  it('fails the stream and all calls until the network is restored', async () => {
    const { cut, mend, follow, calls, api, through } = createNetwork();
    const stream = follow();
    cut();
    expect(await stream).toBe('lost');
    expect(await follow()).toBe('lost');
    const failed = { ok: false, failure: { kind: 'unreachable' } };
    expect(await api.register({})).toMatchObject(failed);
    expect(await api.beat({})).toMatchObject(failed);
    expect(await api.report(jobId('j1'), attemptId('a1'), { status: 'running' })).toMatchObject(failed);
    expect(await api.disconnect(WorkerId.parse('w_1'))).toMatchObject(failed);
    expect(await through(() => api.beat({}))).toMatchObject(failed);
    expect(calls).toEqual([]);
    mend();
    await api.beat({});
    expect(calls).toEqual(['beat']);
  });

  it('reports an aborted stream as aborted', async () => {
    const { follow, abort, cut } = createNetwork();
    const stream = follow();
    abort.abort();
    cut();
    expect(await stream).toBe('aborted');
  });
});
