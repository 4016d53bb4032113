// See docs/internals/semantics.md, sections 1 and 4.
import { beforeEach, describe, expect, test } from 'vitest';
import type { WorkerStream } from '../../../../../main/orchestrator/ports/index.ts';
import {
  createConnectionRegistry,
  type ConnectionRegistry,
} from '../../../../../main/orchestrator/memory/connection-registry.ts';
import { WorkerCommand } from '../../../../../protocol/worker-api.ts';
import { jobId, workerId } from '../builders.ts';

const w1 = workerId('w1');
const w2 = workerId('w2');
const ping: WorkerCommand = { type: 'ping' };

function makeStream(): WorkerStream & { readonly sent: unknown[] } {
  const sent: unknown[] = [];
  return { sent, send: command => sent.push(command), end: () => sent.push('end') };
}

function makeOffer(job: string, attempt: string): WorkerCommand & { type: 'job_submit' } {
  const command = WorkerCommand.parse({
    type: 'job_submit',
    job_id: job,
    attempt_id: attempt,
    config_name: 'demo',
    config: {},
    dataloader: null,
    upload_endpoint: '/api/cloud/storage',
    provider: null,
    hf_token: null,
  });
  if (command.type !== 'job_submit') throw new Error('the command is not an offer');
  return command;
}

let registry: ConnectionRegistry;
beforeEach(() => {
  registry = createConnectionRegistry(() => {});
});

test('returns empty values for a worker that was never in contact, and ignores calls about that worker', () => {
  expect(registry.of(w1)).toBeNull();
  expect(registry.missedOf(w1)).toBe(0);
  expect(registry.offerOf(w1)).toBeNull();
  expect(registry.all()).toEqual([]);
  expect(registry.send(w1, ping)).toBe(false);
  expect(registry.hangUp(w1)).toBe(false);
  expect(registry.closed(w1, makeStream(), 0)).toBe(false);
  registry.settle(w1, 99);
  registry.unmeet(w1);
  registry.noteMissed(w1, 2);
  expect(registry.missedOf(w1)).toBe(0);
  registry.offerSettled(w1, jobId('j1'));
  expect(registry.all()).toEqual([]);
});

test('counts missed offers until the worker is forgotten', () => {
  registry.heard(w1, 10);
  registry.noteMissed(w1, 2);
  expect(registry.missedOf(w1)).toBe(2);
  registry.forget(w1);
  expect(registry.missedOf(w1)).toBe(0);
});

test('stores the time of the last contact with or without a stream', () => {
  registry.heard(w1, 10);
  expect(registry.of(w1)).toEqual({ contactAt: 10, streaming: false, settledAt: 10 });
  registry.heard(w1, 25);
  registry.open(w1, makeStream(), 30);
  expect(registry.of(w1)).toMatchObject({ contactAt: 25, streaming: true });
});

test('keeps the later of two cooldown ends', () => {
  registry.heard(w1, 10);
  registry.settle(w1, 510);
  registry.settle(w1, 60);
  expect(registry.of(w1)?.settledAt).toBe(510);
});

describe('worker streams', () => {
  test('sends a command only to its worker', () => {
    const [first, second] = [makeStream(), makeStream()];
    registry.open(w1, first, 0);
    registry.open(w2, second, 0);
    expect(registry.send(w1, ping)).toBe(true);
    expect(first.sent).toEqual([ping]);
    expect(second.sent).toEqual([]);
    expect(registry.streaming()).toEqual([w1, w2]);
  });

  test('ends a stream when a newer stream opens, and ignores the late close of the older stream', () => {
    const [older, newer] = [makeStream(), makeStream()];
    registry.open(w1, older, 0);
    registry.open(w1, newer, 5);
    expect(older.sent).toEqual(['end']);
    expect(registry.closed(w1, older, 0)).toBe(false);
    expect(registry.of(w1)?.streaming).toBe(true);
    expect(registry.send(w1, ping)).toBe(true);
    expect(newer.sent).toEqual([ping]);
    expect(older.sent).toEqual(['end']);
  });

  test('keeps a worker in the registry when its stream closes', () => {
    const stream = makeStream();
    registry.open(w1, stream, 0);
    registry.open(w2, makeStream(), 0);
    expect(registry.lostStreamAt(w1)).toBeNull();
    expect(registry.closed(w1, stream, 70)).toBe(true);
    expect(registry.lostStreamAt(w1)).toBe(70);
    expect(registry.closed(w1, stream, 70)).toBe(false);
    expect(registry.streaming()).toEqual([w2]);
    expect(registry.all()).toEqual([w1, w2]);
    expect(registry.send(w1, ping)).toBe(false);
    expect(stream.sent).toEqual([]);
  });

  test('ends the stream of a worker only once', () => {
    const stream = makeStream();
    registry.open(w1, stream, 0);
    expect(registry.hangUp(w1)).toBe(true);
    expect(registry.hangUp(w1)).toBe(false);
    expect(stream.sent).toEqual(['end']);
  });

  test('ends the stream and drops all facts about a worker when the worker is forgotten', () => {
    const stream = makeStream();
    registry.open(w1, stream, 0);
    registry.sendOffer(w1, makeOffer('j1', 'a1'), 0, 45);
    registry.forget(w1);
    expect(stream.sent.at(-1)).toBe('end');
    expect(registry.of(w1)).toBeNull();
    expect(registry.offerOf(w1)).toBeNull();
  });
});

describe('open offers', () => {
  const offer = makeOffer('j1', 'a1');

  test('counts how often an offer is sent, and keeps the time of the first send', () => {
    const stream = makeStream();
    registry.open(w1, stream, 0);
    for (const at of [100, 200, 300]) registry.sendOffer(w1, offer, at, at + 45);
    expect(stream.sent).toEqual([offer, offer, offer]);
    expect(registry.offerOf(w1)).toMatchObject({ jobId: 'j1', firstSentAt: 100, sent: 3, giveUpAt: 145 });
  });

  test('does not send an offer without a stream, and keeps its withdrawal time', () => {
    registry.heard(w1, 0);
    registry.sendOffer(w1, offer, 100, 145);
    expect(registry.offerOf(w1)).toMatchObject({ attemptId: 'a1', sent: 0, giveUpAt: 145 });
    registry.sendOffer(w1, offer, 120, 165);
    expect(registry.offerOf(w1)).toMatchObject({ sent: 0, giveUpAt: 145 });
    const stream = makeStream();
    registry.open(w1, stream, 130);
    registry.sendOffer(w1, offer, 130, 175);
    expect(stream.sent).toEqual([offer]);
    expect(registry.offerOf(w1)).toMatchObject({ firstSentAt: 130, sent: 1, giveUpAt: 175 });
  });

  test('keeps the later withdrawal time of an offer from before a restart until the stream opens', () => {
    registry.openOffer(w1, { jobId: jobId('j1'), attemptId: offer.attempt_id }, 100, 260);
    expect(registry.offerOf(w1)).toMatchObject({ jobId: 'j1', sent: 0, giveUpAt: 260 });
    registry.open(w1, makeStream(), 150);
    registry.sendOffer(w1, offer, 150, 195);
    registry.openOffer(w1, { jobId: jobId('j1'), attemptId: offer.attempt_id }, 160, 320);
    expect(registry.offerOf(w1)).toMatchObject({ firstSentAt: 150, sent: 1, giveUpAt: 195 });
  });

  test('counts an offer as sent again while the stream is closed', () => {
    const stream = makeStream();
    registry.open(w1, stream, 0);
    registry.sendOffer(w1, offer, 100, 145);
    registry.closed(w1, stream, 70);
    registry.sendOffer(w1, offer, 200, 245);
    expect(stream.sent).toHaveLength(1);
    expect(registry.offerOf(w1)).toMatchObject({ firstSentAt: 100, sent: 2 });
  });

  test.each([
    ['another job', makeOffer('j2', 'a2')],
    ['the next attempt of the same job', makeOffer('j1', 'a2')],
  ])('counts the offer of %s separately', (_case, next) => {
    registry.open(w1, makeStream(), 0);
    registry.sendOffer(w1, offer, 100, 145);
    registry.sendOffer(w1, next, 200, 245);
    expect(registry.offerOf(w1)).toMatchObject({ jobId: next.job_id, firstSentAt: 200, sent: 1 });
  });

  test('removes an offer only on a report about its job', () => {
    registry.open(w1, makeStream(), 0);
    registry.sendOffer(w1, offer, 100, 145);
    registry.offerSettled(w1, jobId('j9'));
    expect(registry.offerOf(w1)).not.toBeNull();
    registry.offerSettled(w1, jobId('j1'));
    expect(registry.offerOf(w1)).toBeNull();
    registry.offerSettled(w1, jobId('j1'));
    expect(registry.offerOf(w1)).toBeNull();
  });
});

test('returns the GPU load of the last heartbeat, or null values without contact', () => {
  const noLoad = { gpuUtilization: null, vramUsedGb: null, gpus: [], namesJob: false };
  const gpu = { utilization: 87, vram_used_gb: 22.5, temperature_c: 64, power_w: 298, power_limit_w: null };
  const load = { gpuUtilization: 87, vramUsedGb: 22.5, gpus: [{ index: 0, ...gpu }], namesJob: false };
  registry.noteLoad(w1, load);
  expect(registry.loadOf(w1)).toEqual(noLoad);
  registry.heard(w1, 1);
  expect(registry.loadOf(w1)).toEqual(noLoad);
  registry.noteLoad(w1, load);
  expect(registry.loadOf(w1)).toEqual(load);
  registry.forget(w1);
  expect(registry.loadOf(w1)).toEqual(noLoad);
});

// Granted contact restarts the grace period of a worker, as if the worker had made contact.
describe('granted contact', () => {
  test('counts granted contact as contact, but not as a heartbeat', () => {
    registry.grant(w1, 10);
    expect(registry.of(w1)?.contactAt).toBe(10);
    expect(registry.metAt(w1)).toBeNull();
    registry.heard(w1, 20);
    expect(registry.metAt(w1)).toBe(20);
    expect(registry.metAt(w2)).toBeNull();
  });
});

describe('absence of the job', () => {
  test('measures the absence of a job from the first heartbeat without the job until the job is named again', () => {
    expect(registry.noteAbsence(w1, 10)).toBe(10);
    expect(registry.noteAbsence(w1, 30)).toBe(10);
    expect(registry.noteAbsence(w2, 40)).toBe(40);
    registry.clearAbsence(w1);
    expect(registry.noteAbsence(w1, 50)).toBe(50);
    expect(registry.noteAbsence(w2, 60)).toBe(40);
    registry.clearAbsence(workerId('w9'));
  });
});

test('stores which GPU troubles the last report lacked, until the worker is forgotten', () => {
  const doubtedTroubles = new Set(['0 held']);
  registry.noteDoubted(w1, doubtedTroubles);
  expect(registry.doubtedOf(w1).size).toBe(0);
  registry.heard(w1, 0);
  expect(registry.doubtedOf(w1).size).toBe(0);
  registry.noteDoubted(w1, doubtedTroubles);
  expect(registry.doubtedOf(w1)).toBe(doubtedTroubles);
  registry.forget(w1);
  expect(registry.doubtedOf(w1).size).toBe(0);
});

describe('duplicate instances', () => {
  const duplicate = { at: 5, host: 'other', address: '10.0.0.9' };

  test('stores the newest duplicate of a known worker', () => {
    expect(registry.duplicateOf(w1)).toBeNull();
    registry.noteDuplicate(w1, duplicate);
    expect(registry.duplicateOf(w1)).toBeNull();
    registry.heard(w1, 1);
    registry.noteDuplicate(w1, duplicate);
    registry.noteDuplicate(w1, { ...duplicate, at: 6 });
    expect(registry.duplicateOf(w1)).toEqual({ ...duplicate, at: 6 });
    registry.forget(w1);
    expect(registry.duplicateOf(w1)).toBeNull();
  });
});
