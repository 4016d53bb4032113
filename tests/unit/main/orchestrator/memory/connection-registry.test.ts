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
  if (command.type !== 'job_submit') throw new Error('not an offer');
  return command;
}

let book: ConnectionRegistry;
beforeEach(() => {
  book = createConnectionRegistry(() => {});
});

test('knows nothing about a worker that was never heard', () => {
  expect(book.of(w1)).toBeNull();
  expect(book.missedOf(w1)).toBe(0);
  expect(book.offerOf(w1)).toBeNull();
  expect(book.all()).toEqual([]);
  expect(book.send(w1, ping)).toBe(false);
  expect(book.hangUp(w1)).toBe(false);
  expect(book.closed(w1, makeStream(), 0)).toBe(false);
  book.settle(w1, 99);
  book.unmeet(w1);
  book.noteMissed(w1, 2);
  expect(book.missedOf(w1)).toBe(0);
  book.offerSettled(w1, jobId('j1'));
  expect(book.all()).toEqual([]);
});

test('counts missed offers until the worker is forgotten', () => {
  book.heard(w1, 10);
  book.noteMissed(w1, 2);
  expect(book.missedOf(w1)).toBe(2);
  book.forget(w1);
  expect(book.missedOf(w1)).toBe(0);
});

test('stores the time of the last contact with or without a stream', () => {
  book.heard(w1, 10);
  expect(book.of(w1)).toEqual({ contactAt: 10, streaming: false, settledAt: 10 });
  book.heard(w1, 25);
  book.open(w1, makeStream(), 30);
  expect(book.of(w1)).toMatchObject({ contactAt: 25, streaming: true });
});

test('keeps the later of two cooldown ends', () => {
  book.heard(w1, 10);
  book.settle(w1, 510);
  book.settle(w1, 60);
  expect(book.of(w1)?.settledAt).toBe(510);
});

describe('worker streams', () => {
  test('sends a command only to its worker', () => {
    const [first, second] = [makeStream(), makeStream()];
    book.open(w1, first, 0);
    book.open(w2, second, 0);
    expect(book.send(w1, ping)).toBe(true);
    expect(first.sent).toEqual([ping]);
    expect(second.sent).toEqual([]);
    expect(book.streaming()).toEqual([w1, w2]);
  });

  test('ends a stream when a newer one opens, and ignores the late close of the old one', () => {
    const [older, newer] = [makeStream(), makeStream()];
    book.open(w1, older, 0);
    book.open(w1, newer, 5);
    expect(older.sent).toEqual(['end']);
    expect(book.closed(w1, older, 0)).toBe(false);
    expect(book.of(w1)?.streaming).toBe(true);
    expect(book.send(w1, ping)).toBe(true);
    expect(newer.sent).toEqual([ping]);
    expect(older.sent).toEqual(['end']);
  });

  test('keeps a worker known without a stream when its stream closes', () => {
    const stream = makeStream();
    book.open(w1, stream, 0);
    book.open(w2, makeStream(), 0);
    expect(book.lostStreamAt(w1)).toBeNull();
    expect(book.closed(w1, stream, 70)).toBe(true);
    expect(book.lostStreamAt(w1)).toBe(70);
    expect(book.closed(w1, stream, 70)).toBe(false);
    expect(book.streaming()).toEqual([w2]);
    expect(book.all()).toEqual([w1, w2]);
    expect(book.send(w1, ping)).toBe(false);
    expect(stream.sent).toEqual([]);
  });

  test('ends the stream of a worker only once', () => {
    const stream = makeStream();
    book.open(w1, stream, 0);
    expect(book.hangUp(w1)).toBe(true);
    expect(book.hangUp(w1)).toBe(false);
    expect(stream.sent).toEqual(['end']);
  });

  test('ends the stream and drops everything known when the worker is forgotten', () => {
    const stream = makeStream();
    book.open(w1, stream, 0);
    book.sendOffer(w1, makeOffer('j1', 'a1'), 0, 45);
    book.forget(w1);
    expect(stream.sent.at(-1)).toBe('end');
    expect(book.of(w1)).toBeNull();
    expect(book.offerOf(w1)).toBeNull();
  });
});

describe('open offers', () => {
  const offer = makeOffer('j1', 'a1');

  test('counts the sends of an offer and keeps the first time', () => {
    const stream = makeStream();
    book.open(w1, stream, 0);
    for (const at of [100, 200, 300]) book.sendOffer(w1, offer, at, at + 45);
    expect(stream.sent).toEqual([offer, offer, offer]);
    expect(book.offerOf(w1)).toMatchObject({ jobId: 'j1', firstSentAt: 100, sent: 3, giveUpAt: 145 });
  });

  test('does not send an offer without a stream, and keeps its withdrawal time', () => {
    book.heard(w1, 0);
    book.sendOffer(w1, offer, 100, 145);
    expect(book.offerOf(w1)).toMatchObject({ attemptId: 'a1', sent: 0, giveUpAt: 145 });
    book.sendOffer(w1, offer, 120, 165);
    expect(book.offerOf(w1)).toMatchObject({ sent: 0, giveUpAt: 145 });
    const stream = makeStream();
    book.open(w1, stream, 130);
    book.sendOffer(w1, offer, 130, 175);
    expect(stream.sent).toEqual([offer]);
    expect(book.offerOf(w1)).toMatchObject({ firstSentAt: 130, sent: 1, giveUpAt: 175 });
  });

  test('gives an offer from before a restart more time until the stream opens', () => {
    book.openOffer(w1, { jobId: jobId('j1'), attemptId: offer.attempt_id }, 100, 260);
    expect(book.offerOf(w1)).toMatchObject({ jobId: 'j1', sent: 0, giveUpAt: 260 });
    book.open(w1, makeStream(), 150);
    book.sendOffer(w1, offer, 150, 195);
    book.openOffer(w1, { jobId: jobId('j1'), attemptId: offer.attempt_id }, 160, 320);
    expect(book.offerOf(w1)).toMatchObject({ firstSentAt: 150, sent: 1, giveUpAt: 195 });
  });

  test('keeps counting sends while the stream is closed', () => {
    const stream = makeStream();
    book.open(w1, stream, 0);
    book.sendOffer(w1, offer, 100, 145);
    book.closed(w1, stream, 70);
    book.sendOffer(w1, offer, 200, 245);
    expect(stream.sent).toHaveLength(1);
    expect(book.offerOf(w1)).toMatchObject({ firstSentAt: 100, sent: 2 });
  });

  test.each([
    ['another job', makeOffer('j2', 'a2')],
    ['the next attempt of the same job', makeOffer('j1', 'a2')],
  ])('counts the offer of %s separately', (_case, next) => {
    book.open(w1, makeStream(), 0);
    book.sendOffer(w1, offer, 100, 145);
    book.sendOffer(w1, next, 200, 245);
    expect(book.offerOf(w1)).toMatchObject({ jobId: next.job_id, firstSentAt: 200, sent: 1 });
  });

  test('removes an offer only on a report about its job', () => {
    book.open(w1, makeStream(), 0);
    book.sendOffer(w1, offer, 100, 145);
    book.offerSettled(w1, jobId('j9'));
    expect(book.offerOf(w1)).not.toBeNull();
    book.offerSettled(w1, jobId('j1'));
    expect(book.offerOf(w1)).toBeNull();
    book.offerSettled(w1, jobId('j1'));
    expect(book.offerOf(w1)).toBeNull();
  });
});

test('returns the GPU load of the last heartbeat, or null without contact', () => {
  const unknown = { gpuUtilization: null, vramUsedGb: null, gpus: [], namesJob: false };
  const gpu = { utilization: 87, vram_used_gb: 22.5, temperature_c: 64, power_w: 298, power_limit_w: null };
  const busy = { gpuUtilization: 87, vramUsedGb: 22.5, gpus: [{ index: 0, ...gpu }], namesJob: false };
  book.noteLoad(w1, busy);
  expect(book.loadOf(w1)).toEqual(unknown);
  book.heard(w1, 1);
  expect(book.loadOf(w1)).toEqual(unknown);
  book.noteLoad(w1, busy);
  expect(book.loadOf(w1)).toEqual(busy);
  book.forget(w1);
  expect(book.loadOf(w1)).toEqual(unknown);
});

describe('granted contact', () => {
  test('counts granted contact as contact, but not as a heartbeat', () => {
    book.grant(w1, 10);
    expect(book.of(w1)?.contactAt).toBe(10);
    expect(book.metAt(w1)).toBeNull();
    book.heard(w1, 20);
    expect(book.metAt(w1)).toBe(20);
    expect(book.metAt(w2)).toBeNull();
  });
});

describe('absence of the job', () => {
  test('measures the absence from the first heartbeat without the job until it is named again', () => {
    expect(book.noteAbsence(w1, 10)).toBe(10);
    expect(book.noteAbsence(w1, 30)).toBe(10);
    expect(book.noteAbsence(w2, 40)).toBe(40);
    book.clearAbsence(w1);
    expect(book.noteAbsence(w1, 50)).toBe(50);
    expect(book.noteAbsence(w2, 60)).toBe(40);
    book.clearAbsence(workerId('w9'));
  });
});

test('forgets doubts about GPUs together with the worker', () => {
  const doubted = new Set(['0 held']);
  book.noteDoubted(w1, doubted);
  expect(book.doubtedOf(w1).size).toBe(0);
  book.heard(w1, 0);
  expect(book.doubtedOf(w1).size).toBe(0);
  book.noteDoubted(w1, doubted);
  expect(book.doubtedOf(w1)).toBe(doubted);
  book.forget(w1);
  expect(book.doubtedOf(w1).size).toBe(0);
});

describe('duplicate instances', () => {
  const duplicate = { at: 5, host: 'other', address: '10.0.0.9' };

  test('stores the newest duplicate of a known worker', () => {
    expect(book.duplicateOf(w1)).toBeNull();
    book.noteDuplicate(w1, duplicate);
    expect(book.duplicateOf(w1)).toBeNull();
    book.heard(w1, 1);
    book.noteDuplicate(w1, duplicate);
    book.noteDuplicate(w1, { ...duplicate, at: 6 });
    expect(book.duplicateOf(w1)).toEqual({ ...duplicate, at: 6 });
    book.forget(w1);
    expect(book.duplicateOf(w1)).toBeNull();
  });
});
