import { describe, expect, test } from 'vitest';
import type { FixedBlocker } from '../../../../../main/orchestrator/rules/queue-rules.ts';
import type { IneligibilityReason } from '../../../../../main/orchestrator/rules/worker-rules.ts';
import {
  type Candidate,
  describeGathering,
  gatheringOf,
  isUnsatisfiable,
  judge,
  offlineTakers,
  reasonsOf,
  whyNobody,
} from '../../../../../main/orchestrator/rules/waiting.ts';
import {
  describeBlocker,
  describeIneligibility,
  wordFor,
  words,
} from '../../../../../main/orchestrator/rules/wait-texts.ts';
import { jobId, makeNeeds, makeOffering, workerId } from '../builders.ts';

// See docs/internals/semantics.md, section 6.

const ineligibilityReasons = {
  idle: [],
  never: [{ code: 'never_registered', awaited: false }],
  awaited: [{ code: 'never_registered', awaited: true }],
  offline: [{ code: 'offline', why: 'silent' }, { code: 'no_stream' }],
  draining: [{ code: 'draining', reason: null }],
  busy: [{ code: 'busy', jobId: jobId('j1') }],
  settling: [{ code: 'settling' }],
  no_stream: [{ code: 'no_stream' }],
  leaving: [{ code: 'leaving' }],
  updating: [{ code: 'updating' }],
  quarantined: [{ code: 'quarantined', reason: 'three jobs could not start' }],
  gpu_trouble: [
    {
      code: 'gpu_trouble',
      troubles: [
        { gpu: 0, kind: 'missing', detail: 'nvidia-smi no longer lists it' },
        { gpu: 1, kind: 'errors', detail: '3 since the last reset' },
      ],
    },
  ],
  local_limit: [{ code: 'local_limit' }],
} as const satisfies Record<string, readonly IneligibilityReason[]>;

const makeCandidate = (
  state: keyof typeof ineligibilityReasons,
  gpuCount = 1,
  labels: Candidate['offering']['labels'] = {},
): Candidate => ({
  id: workerId('w1'),
  name: 'rig',
  local: false,
  isKnown: state !== 'never' && state !== 'awaited',
  offering: makeOffering({ gpuCount, labels }),
  datasets: [],
  ineligibilityReasons: ineligibilityReasons[state],
});

const explainWait = (needs: ReturnType<typeof makeNeeds>, candidates: readonly Candidate[]): string =>
  whyNobody(judge(needs, candidates));

const a100 = makeNeeds({ gpuCount: 1, labels: { gpu_type: 'a100*' } });

test.each<
  readonly [
    title: string,
    text: string,
    needs: ReturnType<typeof makeNeeds>,
    candidates: readonly Candidate[],
  ]
>([
  ['no worker', 'No idle workers: no worker has been created yet', makeNeeds(), []],
  [
    'one busy worker',
    'No idle workers: 0 of 1 worker can take this job: 1 busy',
    makeNeeds(),
    [makeCandidate('busy')],
  ],
  [
    'several workers with different reasons',
    'No idle workers: 0 of 7 workers can take this job: 2 offline, 1 busy, 1 draining, 2 still connecting, 1 never registered',
    makeNeeds(),
    (['offline', 'busy', 'offline', 'draining', 'no_stream', 'awaited', 'never'] as const).map(status =>
      makeCandidate(status),
    ),
  ],
  [
    'too few GPUs on every worker',
    'GPU requirements not met: 0 of 3 workers can take this job: 3 with fewer than 4 GPUs (have 1, 2)',
    makeNeeds({ gpuCount: 4 }),
    [makeCandidate('idle', 2), makeCandidate('idle', 1), makeCandidate('offline', 2)],
  ],
  [
    'enough GPUs only on a busy worker',
    'No idle workers: 0 of 2 workers can take this job: 1 busy, 1 with fewer than 4 GPUs (have 1)',
    makeNeeds({ gpuCount: 4 }),
    [makeCandidate('busy', 4), makeCandidate('idle', 1)],
  ],
  [
    'too few GPUs on every registered worker',
    'GPU requirements not met: 0 of 3 workers can take this job: 1 with fewer than 4 GPUs (have 1), 1 never registered, 1 still connecting',
    makeNeeds({ gpuCount: 4 }),
    [makeCandidate('never', 0), makeCandidate('idle', 1), makeCandidate('awaited', 0)],
  ],
  [
    'too few GPUs on every remote worker',
    'GPU requirements not met: 0 of 2 workers can take this job: 1 with fewer than 4 GPUs (have 1), 1 on this machine',
    makeNeeds({ gpuCount: 4, target: 'worker' }),
    [
      { ...makeCandidate('idle'), local: true, offering: makeOffering({ local: true, gpuCount: 8 }) },
      makeCandidate('idle', 1),
    ],
  ],
  [
    'no registered worker',
    'No idle workers: 0 of 1 worker can take this job: 1 never registered',
    makeNeeds({ gpuCount: 4 }),
    [makeCandidate('never', 0)],
  ],
  [
    'a label pattern that matches no idle worker',
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
    'a label that no worker has and too few GPUs',
    'No idle workers: 0 of 2 workers can take this job: 1 without a GPU (have 0), 1 label gpu_type=a100* (have none)',
    a100,
    [makeCandidate('idle', 0), makeCandidate('idle', 1)],
  ],
  [
    'GPU problems with the names of three workers',
    'No idle workers: 0 of 5 workers can take this job: 1 busy, 4 with GPU trouble (rig: GPU 0 is missing, GPU 1 has uncorrectable ' +
      'errors; rig: GPU 0 is missing, GPU 1 has uncorrectable errors; rig: GPU 0 is missing, GPU 1 has uncorrectable errors)',
    makeNeeds(),
    (['busy', 'gpu_trouble', 'gpu_trouble', 'gpu_trouble', 'gpu_trouble'] as const).map(status =>
      makeCandidate(status),
    ),
  ],
  [
    'several workers with less common reasons',
    'No idle workers: 0 of 4 workers can take this job: 1 quarantined, 1 settling, 1 leaving, 1 still connecting',
    makeNeeds(),
    (['quarantined', 'settling', 'leaving', 'no_stream'] as const).map(status => makeCandidate(status)),
  ],
])('summarizes why a job waits: %s', (_case, text, needs, candidates) => {
  expect(explainWait(needs, candidates)).toBe(text);
});

const rigOffering = makeOffering({ gpuCount: 1, vramGb: 24, accelerator: 'cuda' });

test.each([
  [{ vramGb: 80 }, '1 with less than 80 GB a GPU (have 24 GB)'],
  [{ accelerator: 'rocm' }, '1 without rocm (have cuda)'],
  [{ guarded: true }, '1 that keep training without contact'],
  [{ configKeys: ['output_dir', 'webhook_config'] }, '1 that do not allow output_dir, webhook_config'],
])('summarizes unmet requirements for the GPUs and the agent: %j', (changes, line) => {
  expect(explainWait(makeNeeds(changes), [{ ...makeCandidate('idle'), offering: rigOffering }])).toBe(
    `No idle workers: 0 of 1 worker can take this job: ${line}`,
  );
});

test.each([
  ['local', '1 offline, 2 not on this machine'],
  ['worker', '2 busy, 1 on this machine'],
] as const)('counts workers that do not match target %s', (target, reasons) => {
  const remote = makeCandidate('busy');
  const local = { ...makeCandidate('offline'), local: true, offering: makeOffering({ local: true }) };
  expect(explainWait(makeNeeds({ target }), [remote, remote, local])).toBe(
    `No idle workers: 0 of 3 workers can take this job: ${reasons}`,
  );
});

test.each([
  ['worker', true, /must not run on the orchestrator's own machine, and this is that machine/],
] as const)(
  'explains why a worker that does not match target %s cannot run the job',
  (target, local, detail) => {
    const candidate = { ...makeCandidate('idle'), local, offering: makeOffering({ local }) };
    const [judged] = judge(makeNeeds({ target }), [candidate]);
    if (judged === undefined) throw new Error('no worker was judged');
    expect(reasonsOf(judged, null)).toMatchObject([
      { code: 'target', detail: expect.stringMatching(detail) },
    ]);
  },
);

test('names at most five existing label values', () => {
  const candidates = Array.from({ length: 9 }, (_, index) =>
    makeCandidate('idle', 1, { gpu_type: `t${index}` }),
  );
  expect(explainWait(a100, candidates)).toMatch(/9 label gpu_type=a100\* \(have t0, t1, t2, t3, t4\)$/);
});

describe('judging a worker', () => {
  const judgeOne = (needs: ReturnType<typeof makeNeeds>, candidate: Candidate) => {
    const [judged] = judge(needs, [candidate]);
    if (judged === undefined) throw new Error('no worker was judged');
    return judged;
  };

  test('judges a worker as fitting only when it is idle and meets all requirements', () => {
    expect(judgeOne(a100, makeCandidate('idle', 1, { gpu_type: 'a100-80gb' })).fits).toBe(true);
    expect(judgeOne(a100, makeCandidate('busy', 1, { gpu_type: 'a100-80gb' })).fits).toBe(false);
    expect(judgeOne(a100, makeCandidate('idle', 1, { gpu_type: 'h100' })).fits).toBe(false);
  });

  test('lists every failed check with the required and the actual value', () => {
    const needs = makeNeeds({
      gpuCount: 4,
      vramGb: 80,
      accelerator: 'rocm',
      guarded: true,
      configKeys: ['post_checkpoint_script'],
      labels: { gpu_type: 'a100*', rack: '7' },
    });
    const offering = { ...rigOffering, labels: { gpu_type: 'h100' } };
    const judged = judgeOne(needs, { ...makeCandidate('busy'), offering });
    const reasons = reasonsOf(judged, workerId('w1'));
    expect(reasons.map(({ code, wanted, there }) => [code, wanted, there])).toEqual([
      ['busy', null, 'j1'],
      ['gpu_count', '4', '1'],
      ['vram', '80 GB', '24 GB'],
      ['accelerator', 'rocm', 'cuda'],
      ['guard', 'a worker that stops without contact', 'none'],
      ['config_key', 'post_checkpoint_script', 'not allowed'],
      ['label', 'gpu_type=a100*', 'h100'],
      ['label', 'rack=7', 'none'],
      ['avoid_previous', null, null],
    ]);
    expect(new Set(reasons.map(({ detail }) => detail)).size).toBe(9);
    expect(reasons[1]?.detail).toBe('GPUs: the job needs 4, it has 1');
    expect(reasons[7]?.detail).toBe('Label: the job needs rack=7, it has none');
  });

  test.each([
    ['kohya', [], "Trainer: the config is for kohya's sd-scripts, and this rig has no trainer"],
    ['kohya', ['simpletuner'], "Trainer: the config is for kohya's sd-scripts, and this rig has simpletuner"],
    ['newer', ['simpletuner'], 'Trainer: the config is for newer, and this rig has simpletuner'],
  ])('reports a missing trainer %s among %j', (trainer, trainers, detail) => {
    const judged = judgeOne(makeNeeds({ trainer }), {
      ...makeCandidate('idle'),
      offering: makeOffering({ trainers }),
    });
    expect(reasonsOf(judged, null).map(reason => reason.detail)).toEqual([detail]);
  });

  test.each([
    ['this machine', 'not on this machine', /must run on the orchestrator's own machine/],
    ['another machine', 'on this machine', /must not run on the orchestrator's own machine/],
  ])('explains that a job must run on %s', (wanted, heading, detail) => {
    expect(words.target.heading(wanted, '')).toBe(heading);
    expect(words.target.detail(wanted, '')).toMatch(detail);
  });

  test.each([
    ['data', { data: ['v1'] }, 'Data: the job has datasets to fetch'],
    ['inputs', { inputs: true }, 'Inputs: the job takes files of other jobs'],
  ] as const)('explains that a worker cannot fetch %s', (code, needed, detail) => {
    const offering = makeOffering({ fetchesInputs: false, fetchesData: false });
    const judged = judgeOne(makeNeeds(needed), { ...makeCandidate('idle'), offering });
    expect(reasonsOf(judged, null)).toMatchObject([{ code, detail: expect.stringContaining(detail) }]);
    expect(words[code].heading('', '')).toContain('cannot fetch');
  });

  test.each<readonly [state: keyof typeof ineligibilityReasons, there: string | null, detail: RegExp]>([
    ['never', null, /not registered/],
    ['offline', 'silent', /out of contact/],
    ['draining', null, /drained/],
    ['busy', 'j1', /has job j1/],
    ['settling', null, /just ended/],
    ['no_stream', null, /no open stream/],
    ['leaving', null, /leaves/],
    ['updating', null, /being updated/],
    ['quarantined', 'three jobs could not start', /in quarantine: three jobs could not start/],
    [
      'gpu_trouble',
      'GPU 0 is missing, GPU 1 has uncorrectable errors',
      /GPU trouble: GPU 0: nvidia-smi no longer lists it; GPU 1: 3 since the last reset$/,
    ],
    ['local_limit', '0', /limit of jobs on this machine is 0/],
  ])('describes each ineligibility reason: %s', (state, there, detail) => {
    const [reason] = reasonsOf(judgeOne(makeNeeds(), makeCandidate(state)), null);
    expect(reason).toEqual({
      code: ineligibilityReasons[state][0]?.code,
      wanted: null,
      there,
      detail: expect.stringMatching(detail),
    });
  });

  test('distinguishes a disconnected worker from a silent worker', () => {
    const disconnected: Candidate = {
      ...makeCandidate('idle'),
      ineligibilityReasons: [{ code: 'offline', why: 'goodbye' }],
    };
    expect(reasonsOf(judgeOne(makeNeeds(), disconnected), null)).toMatchObject([{ there: 'goodbye' }]);
  });

  test('judges the previous worker as fitting, with a reason to avoid it', () => {
    const judged = judgeOne(makeNeeds(), makeCandidate('idle'));
    expect(judged.fits).toBe(true);
    expect(reasonsOf(judged, workerId('w1'))).toMatchObject([{ code: 'avoid_previous' }]);
    expect(reasonsOf(judged, workerId('w2'))).toEqual([]);
  });

  test("checks only the admin's settings of a worker that never registered", () => {
    const needs = makeNeeds({
      gpuCount: 4,
      vramGb: 80,
      accelerator: 'rocm',
      guarded: true,
      labels: { rack: '7' },
    });
    const reasons = reasonsOf(judgeOne(needs, makeCandidate('awaited', 0, { rack: '8' })), null);
    expect(reasons.map(({ code }) => code)).toEqual(['never_registered', 'label']);
    const withRightLabel = reasonsOf(judgeOne(needs, makeCandidate('awaited', 0, { rack: '7' })), null);
    expect(withRightLabel.map(({ code }) => code)).toEqual(['never_registered']);
  });
});

describe('isUnsatisfiable', () => {
  const fourGpus = makeNeeds({ gpuCount: 4 });

  test.each<readonly [what: string, candidates: readonly Candidate[], expected: boolean]>([
    ['no worker', [], true],
    ['an idle worker with too few GPUs', [makeCandidate('idle', 1)], true],
    ['an offline worker with enough GPUs', [makeCandidate('idle', 1), makeCandidate('offline', 4)], false],
    ['a quarantined worker with enough GPUs', [makeCandidate('quarantined', 4)], false],
    ['a worker that never registered', [makeCandidate('awaited', 4), makeCandidate('idle', 1)], true],
  ])('decides whether a job is unsatisfiable with %s', (_case, candidates, expected) => {
    expect(isUnsatisfiable(judge(fourGpus, candidates), 1)).toBe(expected);
  });
});

describe('a job that needs two workers at the same time', () => {
  const pair = makeNeeds({ nodes: 2 });
  const twoMachines = { ...makeCandidate('idle', 1), offering: makeOffering({ nodes: 2 }) };
  const candidate = (name: Parameters<typeof makeCandidate>[0]): Candidate => ({
    ...makeCandidate(name, 1),
    offering: makeOffering({ isMultiNode: true }),
  });
  const [idle, quarantined, offline] = [candidate('idle'), candidate('quarantined'), candidate('offline')];

  test('judges a job for two workers as unsatisfiable unless two workers fit, or one worker with two machines', () => {
    const decide = (candidates: readonly Candidate[]) => isUnsatisfiable(judge(pair, candidates), 2);
    expect([[], [idle], [idle, offline], [twoMachines]].map(decide)).toEqual([true, true, false, false]);
  });

  test('counts the workers that are free for a job that needs two workers', () => {
    const gather = (candidates: readonly Candidate[]) => gatheringOf(judge(pair, candidates), 2);
    expect(gather([idle, quarantined])).toEqual({ free: 1, wanted: 2 });
    expect(gather([quarantined, offline])).toEqual({ free: 0, wanted: 2 });
    expect([gather([idle, idle]), gather([twoMachines])]).toEqual([null, null]);
    expect(gatheringOf(judge(makeNeeds(), [quarantined]), 1)).toBeNull();
  });

  test.each([
    [0, 'Needs 2 workers at the same time, and 0 of them are free. It starts when all are'],
    [1, 'Needs 2 workers at the same time, and 1 of them is free. It starts when all are'],
  ])('explains the wait of a job for two workers while %i of them are free', (free, text) => {
    expect(describeGathering({ free, wanted: 2 })).toBe(text);
  });
});

test('names the workers that could run a job only while all of them are offline', () => {
  const [offline, idle, small, unregistered] = [
    makeCandidate('offline', 4),
    makeCandidate('idle', 4),
    makeCandidate('idle', 1),
    makeCandidate('never', 4),
  ];
  const findOfflineTakers = (candidates: readonly Candidate[]) =>
    offlineTakers(judge(makeNeeds({ gpuCount: 4 }), candidates));
  expect(findOfflineTakers([offline, small, unregistered])).toEqual([offline]);
  expect(findOfflineTakers([offline, idle])).toEqual([]);
  expect(findOfflineTakers([small])).toEqual([]);
});

test.each<readonly [blocker: FixedBlocker, detail: string]>([
  [{ code: 'approval' }, 'Waits for approval by somebody who may manage the queue'],
  [{ code: 'backoff', until: 7 }, 'Waits until time 7 before the next attempt'],
  [{ code: 'paused', by: 'ada', note: 'new disks' }, 'The queue is paused by ada: new disks'],
  [{ code: 'paused', by: 'ada', note: null }, 'The queue is paused by ada'],
  [
    { code: 'limit', of: 'queue', name: null, running: 5, limit: 4 },
    '5 of 4 jobs run: the limit of the queue',
  ],
  [
    { code: 'limit', of: 'user', name: 'ci', running: 2, limit: 2 },
    '2 of 2 jobs of ci run: the limit of each user',
  ],
  [
    { code: 'limit', of: 'team', name: 'nlp', running: 3, limit: 3 },
    '3 of 3 jobs of team nlp run: the limit of this team',
  ],
])('describes the blocker %j', (blocker, detail) => {
  expect(describeBlocker(blocker, at => `time ${at}`)).toEqual({ code: blocker.code, detail });
});

test('explains a closed rig with the text of its agent', () => {
  const detail = 'Outside of its hours: it opens at 20:00';
  expect(describeIneligibility({ code: 'closed', detail })).toEqual({ there: null, detail });
  expect(wordFor({ code: 'closed', detail })).toBe('closed');
  expect(wordFor({ code: 'updating' })).toBe('updating');
});

test.each([
  ['1', '2', 'with several machines', 'Machines: the job needs one, it has 2'],
  [
    '2',
    '1',
    'without 2 machines',
    'Machines: the job needs 2. This worker has 1, and its version cannot train together with others',
  ],
])(
  'explains a worker for another number of machines: the job needs %s, it has %s',
  (wanted, offered, heading, detail) => {
    expect(words.nodes.heading(wanted, offered)).toBe(heading);
    expect(words.nodes.detail(wanted, offered)).toBe(detail);
  },
);
