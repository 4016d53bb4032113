import { crashPoints } from '../world/orchestrator-host.ts';
import type { Random } from '../world/random.ts';
import type { Fault, JobPlan, Place, RigPlan, Span, Trouble } from './plan.ts';

type Draw = (random: Random, context: Context) => Trouble;

interface Context extends Span {
  readonly place: () => Place;
  readonly rig: () => number;
  readonly job: () => number;
  /** Draws the duration of an outage in ms: shorter than T, about as long as the takeover time, or much longer. */
  readonly outageMs: () => number;
}

const hourMs = 3_600_000;
const tenYearsMs = 10 * 365 * 24 * hourMs;

/** One function per kind of fault, which draws the details of the fault. A seed enables only some of the kinds. */
const kinds: readonly Draw[] = [
  (random, { place, t }) => ({
    ...weather(place(), { delayMs: random.pick([300, 2_000, 12_000]) }),
    forMs: random.int(5_000, t),
  }),
  (random, { place, t }) => ({
    ...weather(place(), { lossUp: random.int(1, 6) / 10 }),
    forMs: random.int(5_000, t),
  }),
  (random, { place, t }) => ({
    ...weather(place(), { lossDown: random.int(1, 6) / 10 }),
    forMs: random.int(5_000, t),
  }),
  (random, { place, t }) => ({
    ...weather(place(), { duplicate: 0.6, delayMs: 200 }),
    forMs: random.int(10_000, 2 * t),
  }),
  (random, { place, t }) => ({ ...weather(place(), { replay: 0.3 }), forMs: random.int(10_000, 2 * t) }),
  (_, { place, outageMs }) => ({ ...weather(place(), { cutUp: true }), forMs: outageMs() }),
  (_, { place, outageMs }) => ({ ...weather(place(), { cutDown: true }), forMs: outageMs() }),
  (_, { place, outageMs }) => ({ ...weather(place(), { cutUp: true, cutDown: true }), forMs: outageMs() }),
  (_, { place, outageMs }) => ({ ...weather(place(), { cutUp: true, cutDown: true }), forMs: outageMs() }),
  (random, { place }) => ({
    kind: 'break streams',
    place: place(),
    how: random.pick(['reset', 'half-open']),
  }),
  (_, { rig, outageMs }) => ({ kind: 'pause agent', rig: rig(), forMs: outageMs() }),
  (random, { rig, t }) => ({ kind: 'kill agent', rig: rig(), downMs: random.int(500, t) }),
  (random, { rig, t }) => ({ kind: 'reboot rig', rig: rig(), downMs: random.int(5_000, 2 * t) }),
  (_, { rig }) => ({ kind: 'lose rig', rig: rig() }),
  (_, { rig }) => ({ kind: 'preempt rig', rig: rig() }),
  (_, { rig }) => ({ kind: 'upgrade agent', rig: rig() }),
  (_, { rig }) => ({ kind: 'kill guard', rig: rig() }),
  (random, { rig }) => ({
    kind: 'set clock',
    place: random.chance(0.6) ? 'orchestrator' : rig(),
    byMs: random.pick([-hourMs, hourMs, tenYearsMs, -5_000]),
  }),
  (random, { t }) => ({
    kind: 'pause orchestrator',
    forMs: random.chance(0.5) ? random.int(8_000, t / 2) : random.int(t / 2, 2 * t),
  }),
  (random, { t }) => ({ kind: 'sleep', forMs: random.int(t / 2, 3 * t) }),
  (random, { t }) => ({ kind: 'stop orchestrator', downMs: random.int(1_000, t) }),
  (random, { t }) => ({ kind: 'kill orchestrator', downMs: random.int(100, 2 * t) }),
  (random, { t }) => ({
    kind: 'crash at',
    point: random.pick(crashPoints),
    skip: random.int(0, 3),
    downMs: random.int(100, t),
  }),
  (random, { t }) => ({ kind: 'disk full', forMs: random.int(1_000, 2 * t) }),
  (random, { rig, job }) => ({
    kind: 'stray report',
    rig: rig(),
    job: job(),
    word: random.pick(['completed', 'failed', 'running']),
  }),
];

/** Changes the network conditions of a client. The caller adds the duration. */
const weather = (place: Place, condition: object) => ({ kind: 'weather', place, condition }) as const;

/** Maximum number of kinds of faults that a seed enables. */
const maxKinds = 6;
/** Maximum number of faults that a seed draws. */
const maxFaults = 12;

export function drawFaults(
  random: Random,
  span: Span,
  rigs: readonly RigPlan[],
  jobs: readonly JobPlan[],
): readonly Fault[] {
  const { t, healAtMs } = span;
  const chosen = Array.from({ length: random.int(1, maxKinds) }, () => random.int(0, kinds.length - 1));
  const faults = Array.from({ length: random.int(2, maxFaults) }, (_, index): Fault => {
    const faultRandom = random.fork(String(index));
    const draw = kinds[chosen[faultRandom.int(0, chosen.length - 1)] ?? 0];
    if (draw === undefined) throw new Error('the list of faults has no function at this index');
    const rig = (): number => faultRandom.int(0, rigs.length - 1);
    const fault = draw(faultRandom, {
      t,
      healAtMs,
      rig,
      job: () => faultRandom.int(0, jobs.length - 1),
      place: () => (faultRandom.chance(0.85) ? rig() : faultRandom.pick(['people', 'panel'])),
      outageMs: () =>
        Math.floor(
          faultRandom.pick([
            faultRandom.int(1e3, t / 2),
            t * (1 + faultRandom.next() / 2),
            t * (1 + 2 * faultRandom.next()),
          ]),
        ),
    });
    return { ...fault, atMs: Math.floor(faultRandom.next() * healAtMs * 0.9) };
  });
  return [...faults, ...drawCutOff(random.fork('cut off'), span)].toSorted((a, b) => a.atMs - b.atMs);
}

/**
 * Draws an outage that starts together with a training and lasts longer than the takeover time. The other faults rarely hit a
 * training that is long enough for a takeover.
 */
function drawCutOff(random: Random, { t, healAtMs }: Span): readonly Fault[] {
  if (!random.chance(0.35)) return [];
  const forMs = Math.floor(t * (1.34 + random.next() / 5));
  return [
    { kind: 'disconnect rig of next trainer', forMs, atMs: Math.floor((random.next() * healAtMs) / 2) },
  ];
}
