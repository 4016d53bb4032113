/** Which workers are in contact, their streams and open offers: docs/internals/semantics.md, sections 1 and 4. */
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

test('nothing is known of a worker that was never heard', () => {
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

test('the offers that a worker missed in a row are remembered until it is forgotten', () => {
  book.heard(w1, 10);
  book.noteMissed(w1, 2);
  expect(book.missedOf(w1)).toBe(2);
  book.forget(w1);
  expect(book.missedOf(w1)).toBe(0);
});

test('contact is the last time it was heard, with or without a stream', () => {
  book.heard(w1, 10);
  expect(book.of(w1)).toEqual({ contactAt: 10, streaming: false, settledAt: 10 });
  book.heard(w1, 25);
  book.open(w1, makeStream(), 30);
  expect(book.of(w1)).toMatchObject({ contactAt: 25, streaming: true });
});

test('settling lasts until the later of two moments', () => {
  book.heard(w1, 10);
  book.settle(w1, 510);
  book.settle(w1, 60);
  expect(book.of(w1)?.settledAt).toBe(510);
});

describe('a stream', () => {
  test('carries what is sent to its worker alone', () => {
    const [first, second] = [makeStream(), makeStream()];
    book.open(w1, first, 0);
    book.open(w2, second, 0);
    expect(book.send(w1, ping)).toBe(true);
    expect(first.sent).toEqual([ping]);
    expect(second.sent).toEqual([]);
    expect(book.streaming()).toEqual([w1, w2]);
  });

  test('is ended by the next one, and its own late end does nothing', () => {
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

  test('that closes leaves the worker known, and not streaming', () => {
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

  test('is hung up once', () => {
    const stream = makeStream();
    book.open(w1, stream, 0);
    expect(book.hangUp(w1)).toBe(true);
    expect(book.hangUp(w1)).toBe(false);
    expect(stream.sent).toEqual(['end']);
  });

  test('ends when its worker is forgotten, and with it all that was known', () => {
    const stream = makeStream();
    book.open(w1, stream, 0);
    book.sendOffer(w1, makeOffer('j1', 'a1'), 0, 45);
    book.forget(w1);
    expect(stream.sent.at(-1)).toBe('end');
    expect(book.of(w1)).toBeNull();
    expect(book.offerOf(w1)).toBeNull();
  });
});

describe('an offer', () => {
  const offer = makeOffer('j1', 'a1');

  test('is counted, and keeps when it first went out', () => {
    const stream = makeStream();
    book.open(w1, stream, 0);
    for (const at of [100, 200, 300]) book.sendOffer(w1, offer, at, at + 45);
    expect(stream.sent).toEqual([offer, offer, offer]);
    expect(book.offerOf(w1)).toMatchObject({ jobId: 'j1', firstSentAt: 100, sent: 3, giveUpAt: 145 });
  });

  test('that finds no stream is not sent, and is given up in its time all the same', () => {
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

  test('that the last run had left may wait longer for a stream, and from then on no longer than any other', () => {
    book.openOffer(w1, { jobId: jobId('j1'), attemptId: offer.attempt_id }, 100, 260);
    expect(book.offerOf(w1)).toMatchObject({ jobId: 'j1', sent: 0, giveUpAt: 260 });
    book.open(w1, makeStream(), 150);
    book.sendOffer(w1, offer, 150, 195);
    book.openOffer(w1, { jobId: jobId('j1'), attemptId: offer.attempt_id }, 160, 320);
    expect(book.offerOf(w1)).toMatchObject({ firstSentAt: 150, sent: 1, giveUpAt: 195 });
  });

  test('goes on counting while the stream is away, so that it is given up in time', () => {
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
  ])('of %s is counted anew', (_what, next) => {
    book.open(w1, makeStream(), 0);
    book.sendOffer(w1, offer, 100, 145);
    book.sendOffer(w1, next, 200, 245);
    expect(book.offerOf(w1)).toMatchObject({ jobId: next.job_id, firstSentAt: 200, sent: 1 });
  });

  test('is settled by word of its own job only', () => {
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

test('the load of the GPUs is that of the last word, and unknown of who was never heard', () => {
  const unknown = { gpuUtilization: null, vramUsedGb: null, namesJob: false };
  const busy = { gpuUtilization: 87, vramUsedGb: 22.5, namesJob: false };
  book.noteLoad(w1, busy);
  expect(book.loadOf(w1)).toEqual(unknown);
  book.heard(w1, 1);
  expect(book.loadOf(w1)).toEqual(unknown);
  book.noteLoad(w1, busy);
  expect(book.loadOf(w1)).toEqual(busy);
  book.forget(w1);
  expect(book.loadOf(w1)).toEqual(unknown);
});

describe('contact', () => {
  test('that is granted counts as long as real contact, and is none', () => {
    book.grant(w1, 10);
    expect(book.of(w1)?.contactAt).toBe(10);
    expect(book.metAt(w1)).toBeNull();
    book.heard(w1, 20);
    expect(book.metAt(w1)).toBe(20);
    expect(book.metAt(w2)).toBeNull();
  });
});

describe('absence', () => {
  test('lasts from the first beat without the job until there is word of it', () => {
    expect(book.noteAbsence(w1, 10)).toBe(10);
    expect(book.noteAbsence(w1, 30)).toBe(10);
    expect(book.noteAbsence(w2, 40)).toBe(40);
    book.clearAbsence(w1);
    expect(book.noteAbsence(w1, 50)).toBe(50);
    expect(book.noteAbsence(w2, 60)).toBe(40);
    book.clearAbsence(workerId('w9'));
  });
});

test('what is in doubt of the GPUs of a worker goes with what is known of it', () => {
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

describe('a rival', () => {
  const rival = { at: 5, host: 'other', address: '10.0.0.9' };

  test('is remembered with the worker whose token it has', () => {
    expect(book.duplicateOf(w1)).toBeNull();
    book.noteDuplicate(w1, rival);
    expect(book.duplicateOf(w1)).toBeNull();
    book.heard(w1, 1);
    book.noteDuplicate(w1, rival);
    book.noteDuplicate(w1, { ...rival, at: 6 });
    expect(book.duplicateOf(w1)).toEqual({ ...rival, at: 6 });
    book.forget(w1);
    expect(book.duplicateOf(w1)).toBeNull();
  });
});
