import { describe, expect, test } from 'vitest';
import { explanationFacts } from '../../../../../main/cli/jobs/why.ts';
import { submittedFacts, dryRunFacts } from '../../../../../main/cli/jobs/submission.ts';
import { detailFacts, jobColumns, jobFacts } from '../../../../../main/cli/jobs/text.ts';
import { factLines, tableLines } from '../../../../../main/cli/table.ts';
import { Explanation } from '../../../../../protocol/explain.ts';
import { AttemptView, type JobDetail } from '../../../../../protocol/job.ts';
import { jobView } from '../../../../support/job-view.ts';

const childless = { children: [], children_count: 0 };

const factsOf = (fields: Parameters<typeof jobView>[0]): Readonly<Record<string, string | null>> =>
  Object.fromEntries(jobFacts(jobView(fields)));

describe('job columns and facts', () => {
  test.each([
    [{}, '10', '10 (normal)'],
    [{ boosts: 1 }, '10 +1', '10 (normal), raised once because of its long wait'],
    [{ boosts: 3 }, '10 +3', '10 (normal), raised 3 times because of its long wait'],
    [{ is_top: true }, '10 top', '10 (normal), moved to the top'],
    [
      { boosts: 2, is_top: true },
      '10 top',
      '10 (normal), raised 2 times because of its long wait, moved to the top',
    ],
  ])('shows the priority of a job with %j', (fields, inColumn, inFull) => {
    const column = jobColumns.find(({ title }) => title === 'PRIORITY');
    expect(column?.text(jobView(fields), false)).toBe(inColumn);
    expect(factsOf(fields)['Priority']).toBe(inFull);
  });

  test('shows the user, GPUs, approval and original job only when the job has them', () => {
    expect(factsOf({ user: 'ada' })).toMatchObject({
      User: 'ada',
      GPUs: null,
      Approval: null,
      'Retry of': null,
    });
    const fields = { user: 'ada', allocated_gpus: [0, 3], approval: 'given', retry_of: 'j_0' };
    expect(factsOf(fields)).toMatchObject({ GPUs: '0, 3', Approval: 'given', 'Retry of': 'j_0' });
    expect(factsOf({ allocated_gpus: [] })['GPUs']).toBeNull();
    expect(tableLines([jobView({ user: 'ada' })], jobColumns, null)[1]).toMatch(
      /^j_1 +pending +digits +ada /,
    );
  });

  test('shows all requirements of a job', () => {
    const fields = { gpu_count: 2, gpu_vram_gb: 24, accelerator: 'cuda', worker_labels: { gpu: 'a*' } };
    expect(factsOf(fields)['Requires']).toBe('2 GPUs, 24 GB per GPU, cuda, gpu=a*');
    expect(factsOf({})['Requires']).toBeNull();
  });
});

describe('detailFacts of an attempt', () => {
  const attemptText = (resumed: object | null, nodes: readonly object[] = []): string => {
    const attempt = AttemptView.parse({
      attempt: 2,
      attempt_id: 'at_2',
      worker_id: 'w_1',
      worker_name: 'rig-1',
      offered_at: '2026-01-02T03:04:05.678Z',
      started_at: null,
      ended_at: null,
      outcome: null,
      cause: null,
      error_message: null,
      exit_code: null,
      signal: null,
      resumed,
      late_result: null,
      nodes,
    });
    const allFields = Object.fromEntries(
      detailFacts({
        ...jobView({}),
        attempts: [attempt],
        warnings: [],
        outstanding: null,
        data: [],
        inputs: [],
        notes: null,
        ...childless,
        usage: null,
      }),
    );
    return allFields['Attempts'] ?? '';
  };

  test.each([
    [null, /  active$/],
    [{ checkpoint: 'c-5', step: 5, steps_lost: 37 }, /; continued from c-5 at step 5, 37 steps repeated$/],
    [{ checkpoint: 'c-5', step: 5, steps_lost: 0 }, /; continued from c-5 at step 5$/],
    [{ checkpoint: 'c', step: null, steps_lost: null }, /; continued from c$/],
    [{ checkpoint: null, step: null, steps_lost: 1 }, /; started from the beginning, 1 step lost$/],
    [{ checkpoint: null, step: null, steps_lost: null }, /; started from the beginning$/],
  ])('shows where training started when the field `resumed` of the attempt is %j', (resumed, pattern) => {
    expect(attemptText(resumed)).toMatch(pattern);
  });

  test('lists each worker of an attempt with its state or outcome and its last error line', () => {
    const node = { worker_name: null, outcome: null, error_message: null };
    const text = attemptText(null, [
      { ...node, rank: 0, worker_id: 'w_1', worker_name: 'rig-1', state: 'running' },
      {
        ...node,
        rank: 1,
        worker_id: 'w_2',
        state: 'ended',
        outcome: 'failed',
        error_message: 'a\nno NCCL\n',
      },
    ]);
    expect(text.split('\n').slice(1)).toEqual([
      '  machine 1: rig-1  running',
      '  machine 2: w_2  failed: no NCCL',
    ]);
  });
});

describe('data of a job', () => {
  const photos = { path: '/home/me/photos', version: 'ab'.repeat(32), files: 2_000, bytes: 2_100_000_000 };
  const dataFact = (data: JobDetail['data']): string | null | undefined => {
    const job = {
      ...jobView({}),
      attempts: [],
      warnings: [],
      outstanding: null,
      data,
      notes: null,
      usage: null,
      inputs: [],
      ...childless,
    };
    return Object.fromEntries(detailFacts(job))['Data'];
  };

  test('lists data with its dataset, version and size', () => {
    const data = [
      { ...photos, is_file: false, dataset: { id: 1, name: 'photos' } },
      { ...photos, path: 'base.ckpt', files: 1, is_file: true, dataset: null },
    ];
    expect(dataFact(data)).toBe(
      'photos@abababababab  2000 files (2.1 GB)  /home/me/photos\nabababababab  1 file (2.1 GB)  base.ckpt',
    );
  });

  test('omits the line Data for a job without data', () => {
    expect(dataFact([])).toBeNull();
  });
});

describe('submittedFacts', () => {
  const accepted = {
    success: true,
    job_id: jobView({}).id,
    status: 'queued',
    allocated_worker_id: null,
    allocated_gpus: null,
    queue_position: null,
    reason: null,
  } as const;

  test('shows the position and the reason of a pending submission', () => {
    const answer = { ...accepted, queue_position: 2, reason: 'No idle workers' };
    expect(factLines(submittedFacts(answer))).toEqual([
      'Job       j_1',
      'Position  2 in the queue: No idle workers',
    ]);
    expect(factLines(submittedFacts(accepted))).toEqual(['Job  j_1']);
  });

  test('shows how to approve a blocked submission', () => {
    expect(factLines(submittedFacts({ ...accepted, status: 'blocked', reason: 'No idle workers' }))).toEqual([
      'Job      j_1',
      'Blocked  It needs approval: run "trainyard jobs approve j_1"',
    ]);
  });
});

const createExplanation = (overrides: Readonly<Record<string, unknown>>): Explanation =>
  Explanation.parse({
    job_id: 'j_1',
    status: 'pending',
    summary: 'No idle workers',
    unsatisfiable: false,
    position: 3,
    reasons: [],
    workers: [],
    predicted_start: null,
    no_prediction: null,
    ...overrides,
  });

describe('explanationFacts and dryRunFacts', () => {
  const reason = (detail: string) => ({ code: 'busy', wanted: null, there: null, detail });
  const workers = [
    { worker_id: 'w_1', name: 'rig-1', local: false, fits: false, reasons: [reason('busy'), reason('old')] },
    { worker_id: 'w_2', name: 'here', local: true, fits: true, reasons: [reason('It had it last')] },
    { worker_id: 'w_3', name: 'rig-3', local: false, fits: true, reasons: [] },
  ];

  test('lists every blocker and every worker, with the predicted start', () => {
    const reasons = [
      { code: 'paused', detail: 'It is paused' },
      { code: 'limit', detail: '4 of 4 run' },
    ];
    const start = { at: '2026-01-02T03:04:05Z', in_s: 75, guess: true, basis: 'By the speed of 2 jobs' };
    expect(
      factLines(
        explanationFacts(
          createExplanation({ reasons, workers, predicted_start: start, unsatisfiable: true }),
        ),
      ),
    ).toEqual([
      'Job            j_1',
      'Status         pending',
      'Why            No idle workers',
      'Unschedulable  No registered worker can run it',
      'Position       3',
      'Blockers       It is paused',
      '               4 of 4 run',
      'Workers        rig-1: busy; old',
      '               here (the orchestrator’s own machine): eligible; It had it last',
      '               rig-3: eligible',
      'Start          2026-01-02T03:04:05Z, in 1 min 15 s (estimate). By the speed of 2 jobs',
    ]);
  });

  test('shows what each pool does for the job', () => {
    const pools = [
      { pool_id: 'p_1', name: 'gpu', launch_id: 'a1', detail: 'Requested from pool gpu' },
      { pool_id: 'p_2', name: 'other', launch_id: null, detail: 'ada paused the pool' },
    ];
    expect(factLines(explanationFacts(createExplanation({ pools }))).slice(4)).toEqual([
      'Pools     gpu: Requested from pool gpu',
      '          other: ada paused the pool',
    ]);
  });

  test('omits parts of an explanation that are empty or repeat the summary', () => {
    const reasons = [{ code: 'paused', detail: 'It is paused' }];
    const pending = createExplanation({
      summary: 'It is paused',
      position: null,
      reasons,
      no_prediction: 'There are no figures',
    });
    expect(factLines(explanationFacts(pending)).slice(2)).toEqual([
      'Why     It is paused',
      'Start   There are no figures',
    ]);
    expect(factLines(explanationFacts({ ...pending, no_prediction: pending.summary })).slice(2)).toEqual([
      'Why     It is paused',
    ]);
    const running = createExplanation({
      status: 'running',
      summary: null,
      position: null,
      no_prediction: 'It runs',
    });
    expect(factLines(explanationFacts(running))).toEqual([
      'Job     j_1',
      'Status  running',
      'Why     The job is not pending',
    ]);
  });

  test('explains a dry run of a job that would wait, and shows only the GPUs of a job that would start', () => {
    const answer = {
      success: true,
      dry_run: true,
      job_id: null,
      allocated_worker_id: null,
      allocated_gpus: null,
      queue_position: 3,
      reason: 'No idle workers',
      explanation: createExplanation({ job_id: null }),
    } as const;
    expect(factLines(dryRunFacts({ ...answer, status: 'queued' }))).toEqual([
      'Dry run   would be queued',
      'Why       No idle workers',
      'Position  3',
    ]);
    const earlier = { runs: 7, expected_s: 7_260, peak_memory_gb: 21.4, output_bytes: 3_200_000_000 };
    expect(factLines(dryRunFacts({ ...answer, status: 'queued', earlier }))).toContain(
      'Expected  about 2 h 1 min, 21.4 GB of GPU memory, 3.2 GB of files (7 similar runs)',
    );
    const withoutFigures = { runs: 1, expected_s: null, peak_memory_gb: null, output_bytes: null };
    expect(factLines(dryRunFacts({ ...answer, status: 'queued', earlier: withoutFigures }))).toHaveLength(3);
    expect(factLines(dryRunFacts({ ...answer, status: 'running', allocated_gpus: [0, 1] }))).toEqual([
      'Dry run  would start now',
      'GPUs     0, 1',
    ]);
  });
});
