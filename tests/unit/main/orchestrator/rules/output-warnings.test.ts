import { describe, expect, it } from 'vitest';
import {
  outputWarnings,
  sharedOutputWarnings,
  warningsAbout,
} from '../../../../../main/orchestrator/rules/job-warnings.ts';
import type { Read } from '../../../../../main/orchestrator/ports/index.ts';
import { makeAgent, makeNeeds, makePending, makeSpec, makeWorker } from '../builders.ts';

const uploadsAll = { upload: 'all', commandHasOutputDir: null } as const;
const simpletuner = [{ name: 'simpletuner', version: '4.3' }];
const anyCommand = [
  { name: 'command', version: null },
  { name: 'any', version: null },
];

type Agent = Parameters<typeof makeAgent>[0];
type Needs = Parameters<typeof outputWarnings>[1];

const makeRig = (agent: Agent) => makeWorker({ name: 'rig-1', agent: makeAgent(agent) });
const warningCode = (agent: Agent, needs: Partial<Needs>): string | undefined =>
  outputWarnings(makeRig(agent), { trainer: 'simpletuner', configKeys: [], ...needs })[0]?.code;

describe('outputWarnings', () => {
  it('returns a warning that names the worker, what happens to its outputs, and a remedy', () => {
    expect(outputWarnings(makeRig({ protocol: 1 }), { trainer: 'simpletuner', configKeys: [] })).toEqual([
      {
        code: 'outputs_old_worker',
        worker_name: 'rig-1',
        message:
          "Worker rig-1 is SimpleTuner's own, which uploads no files: outputs stay on its machine. Run Trainyard's worker there to get them",
      },
    ]);
  });

  it.each<readonly [title: string, agent: Agent, needs: Partial<Needs>, code: string | undefined]>([
    ['a worker that uploads everything', { trainers: simpletuner, outputs: uploadsAll }, {}, undefined],
    ['a worker that does not report its outputs', { trainers: simpletuner }, {}, undefined],
    ['a job without a trainer', { protocol: 1 }, { trainer: undefined }, undefined],
    ['a worker that uploads nothing', { outputs: { ...uploadsAll, upload: 'none' } }, {}, 'outputs_off'],
    [
      'a worker that uploads checkpoints',
      { trainers: simpletuner, outputs: { ...uploadsAll, upload: 'checkpoints' } },
      {},
      'outputs_checkpoints_only',
    ],
    [
      'a command without {output_dir}',
      { trainers: anyCommand, outputs: { ...uploadsAll, commandHasOutputDir: false } },
      { trainer: 'command' },
      'outputs_no_folder',
    ],
    [
      'a command without {output_dir} that accepts configs of other trainers',
      { trainers: anyCommand, outputs: { ...uploadsAll, commandHasOutputDir: false } },
      { trainer: 'kohya' },
      'outputs_no_folder',
    ],
    [
      'a command with {output_dir}',
      { trainers: anyCommand, outputs: { ...uploadsAll, commandHasOutputDir: true } },
      { trainer: 'command' },
      undefined,
    ],
    [
      'a known trainer beside a command without {output_dir}',
      { trainers: [...anyCommand, ...simpletuner], outputs: { ...uploadsAll, commandHasOutputDir: false } },
      {},
      undefined,
    ],
    [
      'a config with its own output folder that the owner allows',
      { trainers: simpletuner, outputs: uploadsAll, allowedConfigKeys: ['output_dir'] },
      { configKeys: ['output_dir'] },
      'outputs_own_folder',
    ],
    [
      'a config without an output folder where the owner would allow one',
      { trainers: simpletuner, outputs: uploadsAll, allowedConfigKeys: ['output_dir'] },
      {},
      undefined,
    ],
    [
      'a kohya config, whose output folder is always replaced',
      {
        trainers: [{ name: 'kohya', version: null }],
        outputs: uploadsAll,
        allowedConfigKeys: ['output_dir'],
      },
      { trainer: 'kohya', configKeys: ['output_dir'] },
      undefined,
    ],
    [
      'a config whose output folder the worker replaces',
      { trainers: simpletuner, outputs: uploadsAll },
      { configKeys: ['output_dir'] },
      undefined,
    ],
  ])('returns the expected output warning for %s', (_case, agent, needs, code) => {
    expect(warningCode(agent, needs)).toBe(code);
  });

  it('returns no warning for a worker that never registered', () => {
    expect(outputWarnings(makeWorker({ agent: null }), { trainer: 'kohya', configKeys: [] })).toEqual([]);
  });
});

describe('warningsAbout', () => {
  const oldRig = makeRig({ protocol: 1 });
  const read = { worker: (id: string) => (id === oldRig.id ? oldRig : null) } as unknown as Read;
  const job = makePending({ spec: makeSpec({ requirements: makeNeeds({ trainer: 'simpletuner' }) }) });

  it('returns no warning for a job without a worker, and for a deleted worker', () => {
    expect(warningsAbout(read, null, job)).toEqual([]);
    const deleted = { worker: () => null } as unknown as Read;
    expect(warningsAbout(deleted, oldRig.id, job)).toEqual([]);
    expect(warningsAbout(read, oldRig.id, job)).toHaveLength(1);
  });
});

describe('sharedOutputWarnings', () => {
  const spec = makeSpec({ requirements: makeNeeds({ trainer: 'simpletuner' }) });
  const limits = { maxLocalGpus: null };
  const oldRig = makeRig({ protocol: 1 });
  const currentRig = makeRig({ trainers: simpletuner, outputs: uploadsAll });
  const rigWithoutTrainers = makeRig({ trainers: [], outputs: uploadsAll });

  it('warns only when every worker that can run the job has a warning', () => {
    expect(sharedOutputWarnings([oldRig, rigWithoutTrainers], spec, limits)).toMatchObject([
      { code: 'outputs_old_worker' },
    ]);
    expect(sharedOutputWarnings([oldRig, currentRig], spec, limits)).toEqual([]);
    expect(sharedOutputWarnings([rigWithoutTrainers], spec, limits)).toEqual([]);
  });
});
