import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { redact } from '../../../../agent/logs/redact.ts';
import { createLogStore, terminalText } from '../../../support/log-book.ts';
import { problemOf, unreachable } from '../builders.ts';
import { type ChunkAnswer, createShipperFixture, type ShipperFixture } from '../shipper-fixture.ts';
import type { CallFailure } from '../../../../protocol/client.ts';
import type { LogChunkBody } from '../../../../protocol/logs-api.ts';

const mib = 1024 * 1024;
const line = (n: number): string => `line ${n}\n`;
const lines = (from: number, to: number): string =>
  Array.from({ length: to - from }, (_, n) => line(from + n)).join('');
const refusal = (status: number, code: string): CallFailure => {
  const failure = problemOf(status);
  return failure.kind === 'problem' ? { ...failure, problem: { ...failure.problem, code } } : failure;
};

/** Prints ten lines per second for this number of seconds. */
async function printLines({ print, clock }: ShipperFixture, seconds: number, from = 0): Promise<void> {
  for (let n = 0; n < seconds * 10; n += 1) {
    print(line(from + n));
    await clock.advance(100);
  }
}

describe('log upload', () => {
  it('uploads output within a second, each part once and in order', async () => {
    const fixture = createShipperFixture();
    const shipper = fixture.start();
    await fixture.clock.settle();
    expect(fixture.chunks).toEqual([{ attempt_id: 'a1', after: 0, from: 0, to: 0, text: '' }]);
    fixture.print('one\n');
    await fixture.clock.advance(1_000);
    expect(fixture.store.of().text).toBe('one\n');
    await printLines(fixture, 10);
    await fixture.clock.advance(1_000);
    expect(fixture.store.of().text).toBe(`one\n${lines(0, 100)}`);
    expect(fixture.chunks.length).toBeLessThan(20);
    shipper.finish();
    await expect(shipper.done).resolves.toBe('complete');
    expect(fixture.store.of()).toMatchObject({ isComplete: true, gaps: [], next: fixture.printed().length });
  });

  it('completes the log of a trainer without output', async () => {
    const fixture = createShipperFixture();
    const shipper = fixture.start();
    shipper.finish();
    await expect(shipper.done).resolves.toBe('complete');
    expect(fixture.store.of()).toMatchObject({ text: '', next: 0, isComplete: true });
    expect(fixture.chunks.at(-1)).toMatchObject({ is_last: true });
  });

  it('uploads the last output and an unfinished line at the end without delay', async () => {
    const fixture = createShipperFixture();
    const shipper = fixture.start();
    fixture.print('a\n');
    await fixture.clock.advance(1);
    fixture.print('b');
    shipper.finish();
    await expect(shipper.done).resolves.toBe('complete');
    expect(fixture.store.of().text).toBe('a\nb');
  });

  it('uploads a progress bar every five seconds, and before the next line', async () => {
    const fixture = createShipperFixture();
    fixture.start();
    for (let n = 0; n < 300; n += 1) {
      fixture.print(`\r${n}% [0s]`);
      await fixture.clock.advance(100);
    }
    const bars = fixture.chunks.filter(({ text }) => text !== '');
    expect(bars.length).toBeGreaterThan(4);
    expect(bars.length).toBeLessThan(9);
    fixture.print('\r300% [0s]\nend\n');
    await fixture.clock.advance(1_000);
    expect(terminalText(fixture.store.of().text)).toBe('300% [0s]\nend\n');
  });

  it("continues at the server's position, also after a restart of the agent and a restore of the server", async () => {
    const fixture = createShipperFixture();
    fixture.start();
    await printLines(fixture, 5);
    fixture.kill();
    await printLines(fixture, 5, 50);
    const shipper = fixture.start();
    await printLines(fixture, 2, 100);
    fixture.store.rewind('a1', 100);
    await printLines(fixture, 5, 120);
    shipper.finish();
    await fixture.clock.advance(1_000);
    await expect(shipper.done).resolves.toBe('complete');
    expect(fixture.store.of()).toMatchObject({ text: lines(0, 170), gaps: [] });
  });

  it('loses and repeats no output when the server is unreachable for a minute', async () => {
    const fixture = createShipperFixture();
    const shipper = fixture.start();
    await printLines(fixture, 3);
    fixture.answer = () => unreachable();
    await printLines(fixture, 60, 30);
    fixture.answer = () => 'taken';
    await printLines(fixture, 40, 630);
    shipper.finish();
    await fixture.clock.advance(1_000);
    expect(fixture.store.of()).toMatchObject({ text: lines(0, 1030), gaps: [], isComplete: true });
    // The shipper repeats a failing chunk at growing intervals.
    expect(fixture.chunks.length).toBeLessThan(160);
  });

  it.each<[string, ChunkAnswer]>([
    ['is lost', 'lost'],
    ['never arrives', 'never'],
    ['is 507', problemOf(507)],
    ['is 503', { kind: 'unexpected', status: 503, detail: '' }],
    ['is 401 during a token rotation', problemOf(401)],
    ['is 429', problemOf(429)],
    ['is 404 from a proxy', { kind: 'unexpected', status: 404, detail: '' }],
    ['reports a restore in progress', refusal(409, 'restore_under_way')],
  ])('uploads the whole log when a response %s', async (_title, answer) => {
    const fixture = createShipperFixture();
    const shipper = fixture.start();
    let count = 0;
    const failure = answer === 'never' ? unreachable('ETIMEDOUT') : answer;
    // Every third chunk is accepted.
    fixture.answer = () => {
      count += 1;
      return count % 3 === 0 ? 'taken' : failure;
    };
    await printLines(fixture, 10);
    shipper.finish();
    await fixture.clock.advance(60_000);
    expect(fixture.store.of()).toMatchObject({ text: lines(0, 100), gaps: [], isComplete: true });
  });
});

describe('lost output', () => {
  it('marks how much output the rig removed before the upload', async () => {
    const fixture = createShipperFixture();
    fixture.start();
    await printLines(fixture, 1);
    await fixture.clock.advance(1_000);
    fixture.answer = () => unreachable();
    await printLines(fixture, 9, 10);
    fixture.rotate(fixture.printed().indexOf('line 50\n'));
    fixture.answer = () => 'taken';
    await fixture.clock.advance(60_000);
    const { text, gaps } = fixture.store.of();
    expect(text.startsWith(lines(0, 10))).toBe(true);
    expect(text.endsWith(lines(50, 100))).toBe(true);
    expect(gaps).toHaveLength(1);
    expect(text.length + (gaps[0]?.bytes ?? 0)).toBe(fixture.printed().length);
  });

  it('marks the gap when a trainer prints faster than the agent can upload', async () => {
    const fixture = createShipperFixture();
    fixture.start();
    await printLines(fixture, 1);
    fixture.print(`${'x'.repeat(99)}\n`.repeat(400_000));
    await fixture.clock.advance(20_000);
    const { text, gaps, next } = fixture.store.of();
    expect(next).toBe(fixture.printed().length);
    expect(gaps).toHaveLength(1);
    expect(text.length).toBeLessThan(9 * mib);
    expect(text.length + (gaps[0]?.bytes ?? 0)).toBe(next);
    expect(text.slice(gaps[0]?.at)).toMatch(/^x{99}\n/);
  }, 60_000);

  it('uploads a large log completely after the trainer has ended, at a limited rate', async () => {
    const fixture = createShipperFixture();
    fixture.print(`${'x'.repeat(99)}\n`.repeat(350_000));
    const shipper = fixture.start();
    shipper.finish();
    await fixture.clock.advance(5_000);
    // The upload rate stays within the limit per rig.
    expect(fixture.store.of().next).toBeLessThan(22 * mib);
    expect(fixture.store.of().next).toBeGreaterThan(18 * mib);
    await fixture.clock.advance(5_000);
    expect(fixture.store.of()).toMatchObject({ gaps: [], next: fixture.printed().length, isComplete: true });
  }, 60_000);
});

describe('refusing server', () => {
  it.each<[string, CallFailure, string]>([
    ['does not know the job', refusal(404, 'job_not_found'), 'unwanted'],
    ['refuses this worker', problemOf(403), 'unwanted'],
    ['has superseded the attempt', refusal(409, 'attempt_superseded'), 'unwanted'],
    ['rejects the call', problemOf(400), 'unwanted'],
    ['does not know the call', refusal(404, 'route_not_found'), 'older_orchestrator'],
    ['does not know the method', { kind: 'unexpected', status: 405, detail: '' }, 'older_orchestrator'],
  ])('stops the upload when the server %s', async (_title, failure, end) => {
    const fixture = createShipperFixture();
    fixture.answer = () => failure;
    const shipper = fixture.start();
    await printLines(fixture, 10);
    await expect(shipper.done).resolves.toBe(end);
    expect(fixture.chunks).toHaveLength(1);
  });

  it('sends smaller chunks when the server refuses a chunk with 413', async () => {
    const fixture = createShipperFixture();
    fixture.answer = ({ text }) => (text.length > 20_000 ? problemOf(413) : 'taken');
    fixture.print(lines(0, 50_000));
    const shipper = fixture.start();
    shipper.finish();
    await fixture.clock.advance(20_000);
    expect(fixture.store.of()).toMatchObject({ text: lines(0, 50_000), isComplete: true });
    const strict = createShipperFixture();
    strict.answer = ({ text }) => (text.length > 0 ? problemOf(413) : 'taken');
    strict.print(lines(0, 5));
    const refused = strict.start();
    await strict.clock.advance(20_000);
    await expect(refused.done).resolves.toBe('unwanted');
  });

  it('slows down when the server changes the position with each response', async () => {
    const fixture = createShipperFixture();
    fixture.print(lines(0, 100));
    // Each response contains a position that differs from the position of the chunk.
    const otherPosition = ({ after }: LogChunkBody): number => (after === 7 ? 14 : 7);
    fixture.answer = () => otherPosition;
    fixture.start();
    await fixture.clock.advance(600_000);
    expect(fixture.chunks.length).toBeLessThan(100);
  });

  it('uploads only output after the position of the server when this position is ahead of the log on the rig', async () => {
    const fixture = createShipperFixture();
    // The trainer has printed 70 bytes, but the server already has 140, for example after the disk lost output.
    fixture.print(lines(0, 10));
    const serverPosition = 140;
    fixture.answer = () => {
      const isBehind = fixture.printed().length < serverPosition && fixture.store.of().next === 0;
      return isBehind ? () => serverPosition : 'taken';
    };
    const shipper = fixture.start();
    await fixture.clock.advance(2_000);
    shipper.finish();
    await fixture.clock.advance(2_000);
    expect(fixture.chunks.at(-1)).toMatchObject({ after: 140, from: 140, to: 140, is_last: true });
  });

  it('drops the log of an ended job after a day without the server', async () => {
    const fixture = createShipperFixture();
    fixture.answer = () => unreachable();
    const shipper = fixture.start();
    await fixture.clock.advance(30 * 60 * 60 * 1000);
    shipper.finish();
    await fixture.clock.advance(23 * 60 * 60 * 1000);
    let end = '';
    void shipper.done.then(reason => (end = reason));
    await fixture.clock.settle();
    expect(end).toBe('');
    await fixture.clock.advance(2 * 60 * 60 * 1000);
    expect(end).toBe('expired');
  }, 60_000);
});

describe('upload of a leaving agent', () => {
  it('uploads the rest of an ended log while the server answers', async () => {
    const fixture = createShipperFixture();
    fixture.print('x\n'.repeat(2 * mib));
    const shipper = fixture.start();
    shipper.finish();
    shipper.hurry();
    await fixture.clock.advance(5_000);
    await expect(shipper.done).resolves.toBe('complete');
  }, 20_000);

  it.each<ChunkAnswer>([unreachable(), problemOf(507)])(
    'stops the upload without waiting when the response is %o',
    async answer => {
      const fixture = createShipperFixture();
      fixture.print('x\n');
      fixture.answer = () => answer;
      const shipper = fixture.start();
      await fixture.clock.advance(5_000);
      shipper.finish();
      shipper.hurry();
      await expect(shipper.done).resolves.toBe('left');
    },
  );

  it('leaves a growing log immediately, even during an upload', async () => {
    const fixture = createShipperFixture();
    fixture.answer = () => 'never';
    const shipper = fixture.start();
    await fixture.clock.settle();
    shipper.hurry();
    await expect(shipper.done).resolves.toBe('left');
  });
});

const outputPieces = fc.constantFrom(
  '\n',
  '\n',
  '\n',
  '\r',
  ' 5%| |',
  'a step ',
  '€',
  `hf_${'aB3'.repeat(9)}`,
  '\r\n',
  'PASSWORD=abc ',
  '-----BEGIN PRIVATE KEY-----\nabcd\n-----END PRIVATE KEY-----\n',
);
/** A random event: the trainer prints, time passes, the network changes, the agent restarts, or the server rewinds. */
const event = fc.oneof(
  {
    weight: 5,
    arbitrary: fc
      .array(outputPieces, { maxLength: 12 })
      .map(pieces => ({ kind: 'print' as const, text: pieces.join('') })),
  },
  { weight: 3, arbitrary: fc.nat(4_000).map(ms => ({ kind: 'wait' as const, ms })) },
  {
    weight: 2,
    arbitrary: fc
      .constantFrom<'taken' | 'lost' | 'down'>('taken', 'lost', 'down')
      .map(network => ({ kind: 'network' as const, network })),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'restart' as const }) },
  { weight: 1, arbitrary: fc.nat(300).map(to => ({ kind: 'rewind' as const, to })) },
);

it('uploads exactly the printed output despite any failures of network, agent and server', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(event, { maxLength: 30 }), async events => {
      const fixture = createShipperFixture(createLogStore());
      let shipper = fixture.start();
      for (const each of events) {
        if (each.kind === 'print') fixture.print(each.text);
        if (each.kind === 'wait') await fixture.clock.advance(each.ms);
        if (each.kind === 'network')
          fixture.answer = () => (each.network === 'down' ? unreachable() : each.network);
        if (each.kind === 'rewind') fixture.store.rewind('a1', each.to);
        if (each.kind === 'restart') {
          fixture.kill();
          shipper = fixture.start();
        }
      }
      fixture.answer = () => 'taken';
      shipper.finish();
      await fixture.clock.advance(120_000);
      const { text, gaps, isComplete, next } = fixture.store.of();
      expect({ gaps, isComplete, next }).toEqual({
        gaps: [],
        isComplete: true,
        next: fixture.printed().length,
      });
      expect(terminalText(text)).toBe(redact(terminalText(fixture.printed().toString())));
    }),
    { numRuns: 150 },
  );
}, 120_000);
