import { type Run, runsIn, type TrainerLine, type TrainerNote } from '../../chaos/journal.ts';
import type { JobCase } from '../../chaos/judge/violation.ts';
import type { PlannedJob } from '../../chaos/plan.ts';

/** Returns the journal that one trainer writes about its run. The lines are 10 ms apart and start at `startMs`. */
export const trainer = (
  pid: number,
  attempt: string,
  startMs: number,
  notes: readonly TrainerNote[],
): readonly TrainerLine[] =>
  notes.map((note, index) => ({ ...note, at: startMs + 10 * index, pid, job: 'j_1', attempt, rig: 0 }));

export const step = (n: number): TrainerNote => ({ kind: 'step', step: n, loss: 1 / n, text: `step ${n}\n` });

export const checkpoint = (n: number): TrainerNote => ({
  kind: 'checkpoint',
  step: n,
  files: { [`checkpoint-${n}/weights.bin`]: `sha-${n}` },
});

/** A planned job with three steps that succeeds. */
export const planned: PlannedJob = {
  n: 0,
  at: 0,
  steps: 3,
  stepMs: 10,
  checkpointEvery: 2,
  exitCode: 0,
  stopsOnLostContact: false,
  maxRetries: 1,
  hasKey: true,
  cancelAfterMs: null,
  isFollowed: false,
};

type Evidence = JobCase['evidence'];
type Attempt = Evidence['job']['attempts'][number];

export const attempt = (n: number, overrides: Partial<Attempt> = {}): Attempt => ({
  attempt: n,
  attempt_id: `a_${n}`,
  worker_id: `w_${n}`,
  outcome: 'completed',
  cause: null,
  exit_code: 0,
  resumed: null,
  ...overrides,
});

/** The run of a trainer that trained three steps, wrote a checkpoint and a final file, and exited with 0. */
export const goodRuns: readonly Run[] = runsIn(
  trainer(1, 'a_1', 0, [
    { kind: 'start', n: 0 },
    step(1),
    step(2),
    checkpoint(2),
    step(3),
    { kind: 'final', files: { 'model.safetensors': 'sha-final' } },
    { kind: 'end', code: 0 },
  ]),
);

const file = (key: string, sha256: string) => ({ key, listed: sha256, sha256 });

/** Returns a job that completed in its first attempt and violates no rule. The arguments override its fields. */
export function goodCase(
  job: Partial<Evidence['job']> = {},
  evidence: Partial<Evidence> = {},
  overrides: Partial<JobCase> = {},
): JobCase {
  return {
    evidence: {
      job: {
        id: 'j_1',
        status: 'completed',
        cause: null,
        error_message: null,
        attempts: [attempt(1)],
        ...job,
      },
      files: [file('checkpoint-2/weights.bin', 'sha-2'), file('model.safetensors', 'sha-final')],
      curves: new Map([[1, [1, 2, 3].map(n => ({ step: n, value: 1 / n, count: 1 }))]]),
      logs: new Map([[1, 'step 1\nstep 2\nstep 3\n']]),
      ...evidence,
    },
    planned,
    runs: goodRuns,
    isCancelled: false,
    killed: new Set(),
    ...overrides,
  };
}
