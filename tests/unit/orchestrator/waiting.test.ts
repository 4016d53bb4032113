/** The one line that says why a job waits: SEMANTICS.md, section 6, in the guide's own words. */
import { expect, test } from 'vitest';
import { type Candidate, whyWaiting } from '../../../main/orchestrator/waiting.ts';
import { makeNeeds, makeOffering } from './builders.ts';

const makeCandidate = (
  status: Candidate['status'],
  gpuCount = 1,
  labels: Candidate['offering']['labels'] = {},
): Candidate => ({ status, offering: makeOffering({ gpuCount, labels }) });

const a100 = makeNeeds({ gpuCount: 1, labels: { gpu_type: 'a100*' } });

test.each<
  readonly [what: string, line: string, needs: ReturnType<typeof makeNeeds>, candidates: readonly Candidate[]]
>([
  ['no worker at all', 'No idle workers: no worker has been created yet', makeNeeds(), []],
  [
    'one that is busy',
    'No idle workers: 0 of 1 worker can take this job: 1 busy',
    makeNeeds(),
    [makeCandidate('busy')],
  ],
  [
    'several, by what keeps them',
    'No idle workers: 0 of 5 workers can take this job: 2 offline, 1 busy, 1 draining, 1 still connecting',
    makeNeeds(),
    (['offline', 'busy', 'offline', 'draining', 'connecting'] as const).map(status => makeCandidate(status)),
  ],
  [
    'too few GPUs everywhere',
    'GPU requirements not met: 0 of 3 workers can take this job: 3 with fewer than 4 GPUs (have 1, 2)',
    makeNeeds({ gpuCount: 4 }),
    [makeCandidate('idle', 2), makeCandidate('idle', 1), makeCandidate('offline', 2)],
  ],
  [
    'too few GPUs here, busy there',
    'No idle workers: 0 of 2 workers can take this job: 1 busy, 1 with fewer than 4 GPUs (have 1)',
    makeNeeds({ gpuCount: 4 }),
    [makeCandidate('busy', 4), makeCandidate('idle', 1)],
  ],
  [
    'a label that nobody has like that',
    'No idle workers: 0 of 5 workers can take this job: 2 offline, 1 busy, 2 label gpu_type=a100* (have h100, rtx4090)',
    a100,
    [
      makeCandidate('offline', 1, { gpu_type: 'a100-80gb' }),
      makeCandidate('offline', 1, { gpu_type: 'a100' }),
      makeCandidate('busy', 1, { gpu_type: 'a100' }),
      makeCandidate('idle', 1, { gpu_type: 'rtx4090' }),
      makeCandidate('idle', 1, { gpu_type: 'h100' }),
    ],
  ],
  [
    'a label that nobody has at all, and too few GPUs, each worker counted once',
    'No idle workers: 0 of 2 workers can take this job: 1 without a GPU (have 0), 1 label gpu_type=a100* (have none)',
    a100,
    [makeCandidate('idle', 0), makeCandidate('idle', 1)],
  ],
  [
    'one in quarantine, which is idle and gets none all the same',
    'No idle workers: 0 of 2 workers can take this job: 1 quarantined, 1 still connecting',
    makeNeeds(),
    [makeCandidate('quarantined'), makeCandidate('connecting')],
  ],
  [
    'one that is free',
    'An idle worker fits: the job is next',
    a100,
    [makeCandidate('busy'), makeCandidate('idle', 1, { gpu_type: 'a100' })],
  ],
])('%s', (_what, line, needs, candidates) => {
  expect(whyWaiting(needs, candidates)).toBe(line);
});

test.each([
  [{ vramGb: 80 }, '1 with less than 80 GB a GPU (have 24 GB)'],
  [{ accelerator: 'rocm' }, '1 without rocm (have cuda)'],
  [{ guarded: true }, '1 that train on without contact'],
])('what is wanted of the GPUs, and of the agent: %j', (changes, line) => {
  const offering = makeOffering({ gpuCount: 1, vramGb: 24, accelerator: 'cuda' });
  expect(whyWaiting(makeNeeds(changes), [{ status: 'idle', offering }])).toBe(
    `No idle workers: 0 of 1 worker can take this job: ${line}`,
  );
});

test.each([
  ['local', '1 offline, 2 not on this machine'],
  ['worker', '2 busy, 1 on this machine'],
] as const)('where it has to run: %s', (target, reasons) => {
  const remote: Candidate = { status: 'busy', offering: makeOffering() };
  const own: Candidate = { status: 'offline', offering: makeOffering({ local: true }) };
  expect(whyWaiting(makeNeeds({ target }), [remote, remote, own])).toBe(
    `No idle workers: 0 of 3 workers can take this job: ${reasons}`,
  );
});

test('of many values that are there, five are named', () => {
  const candidates = Array.from({ length: 9 }, (_, index) =>
    makeCandidate('idle', 1, { gpu_type: `t${index}` }),
  );
  expect(whyWaiting(a100, candidates)).toMatch(/9 label gpu_type=a100\* \(have t0, t1, t2, t3, t4\)$/);
});
