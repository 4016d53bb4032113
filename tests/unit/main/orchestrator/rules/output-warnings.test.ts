import { describe, expect, it } from 'vitest';
import {
  outputWarnings,
  sharedOutputWarnings,
  warningsAbout,
} from '../../../../../main/orchestrator/rules/job-warnings.ts';
import type { Read } from '../../../../../main/orchestrator/ports/index.ts';
import { makeAgent, makeNeeds, makePending, makeSpec, makeWorker } from '../builders.ts';

const all = { upload: 'all', commandHasOutputDir: null } as const;
const simpletuner = [{ name: 'simpletuner', version: '4.3' }];
const anyCommand = [
  { name: 'command', version: null },
  { name: 'any', version: null },
];

type Agent = Parameters<typeof makeAgent>[0];
type Needs = Parameters<typeof outputWarnings>[1];

const rig = (agent: Agent) => makeWorker({ name: 'rig-1', agent: makeAgent(agent) });
const codeOf = (agent: Agent, needs: Partial<Needs>): string | undefined =>
  outputWarnings(rig(agent), { trainer: 'simpletuner', configKeys: [], ...needs })[0]?.code;

describe('outputWarnings', () => {
  it('names the worker, what happens to outputs, and what to do', () => {
    expect(outputWarnings(rig({ protocol: 1 }), { trainer: 'simpletuner', configKeys: [] })).toEqual([
      {
        code: 'outputs_old_worker',
        worker_name: 'rig-1',
        message:
          "Worker rig-1 is SimpleTuner's own, which uploads no files: outputs stay on its machine. Run Trainyard's worker there to get them",
      },
    ]);
  });

  it.each<readonly [what: string, agent: Agent, needs: Partial<Needs>, code: string | undefined]>([
    ['a worker that uploads everything', { trainers: simpletuner, outputs: all }, {}, undefined],
    ['a worker that does not report its outputs', { trainers: simpletuner }, {}, undefined],
    ['a job without a trainer', { protocol: 1 }, { trainer: undefined }, undefined],
    ['a worker that uploads nothing', { outputs: { ...all, upload: 'none' } }, {}, 'outputs_off'],
    [
      'a worker that uploads checkpoints',
      { trainers: simpletuner, outputs: { ...all, upload: 'checkpoints' } },
      {},
      'outputs_checkpoints_only',
    ],
    [
      'a command without {output_dir}',
      { trainers: anyCommand, outputs: { ...all, commandHasOutputDir: false } },
      { trainer: 'command' },
      'outputs_no_folder',
    ],
    [
      'a command without {output_dir} that takes configs of other trainers',
      { trainers: anyCommand, outputs: { ...all, commandHasOutputDir: false } },
      { trainer: 'kohya' },
      'outputs_no_folder',
    ],
    [
      'a command with {output_dir}',
      { trainers: anyCommand, outputs: { ...all, commandHasOutputDir: true } },
      { trainer: 'command' },
      undefined,
    ],
    [
      'a known trainer beside a command without {output_dir}',
      { trainers: [...anyCommand, ...simpletuner], outputs: { ...all, commandHasOutputDir: false } },
      {},
      undefined,
    ],
    [
      'a config with an output folder of its own that the owner allows',
      { trainers: simpletuner, outputs: all, allowedConfigKeys: ['output_dir'] },
      { configKeys: ['output_dir'] },
      'outputs_own_folder',
    ],
    [
      'a config without an output folder where the owner would allow one',
      { trainers: simpletuner, outputs: all, allowedConfigKeys: ['output_dir'] },
      {},
      undefined,
    ],
    [
      'a kohya config, whose output folder is always replaced',
      { trainers: [{ name: 'kohya', version: null }], outputs: all, allowedConfigKeys: ['output_dir'] },
      { trainer: 'kohya', configKeys: ['output_dir'] },
      undefined,
    ],
    [
      'a config whose output folder the worker replaces',
      { trainers: simpletuner, outputs: all },
      { configKeys: ['output_dir'] },
      undefined,
    ],
  ])('returns the right warning for %s', (_case, agent, needs, code) => {
    expect(codeOf(agent, needs)).toBe(code);
  });

  it('returns no warning for a worker that never registered', () => {
    expect(outputWarnings(makeWorker({ agent: null }), { trainer: 'kohya', configKeys: [] })).toEqual([]);
  });
});

describe('warningsAbout', () => {
  const old = rig({ protocol: 1 });
  const read = { worker: (id: string) => (id === old.id ? old : null) } as unknown as Read;
  const job = makePending({ spec: makeSpec({ requirements: makeNeeds({ trainer: 'simpletuner' }) }) });

  it('returns no warning without a worker and for a deleted worker', () => {
    expect(warningsAbout(read, null, job)).toEqual([]);
    const deleted = { worker: () => null } as unknown as Read;
    expect(warningsAbout(deleted, old.id, job)).toEqual([]);
    expect(warningsAbout(read, old.id, job)).toHaveLength(1);
  });
});

describe('sharedOutputWarnings', () => {
  const spec = makeSpec({ requirements: makeNeeds({ trainer: 'simpletuner' }) });
  const limits = { maxLocalGpus: null };
  const old = rig({ protocol: 1 });
  const current = rig({ trainers: simpletuner, outputs: all });
  const unable = rig({ trainers: [], outputs: all });

  it('warns only when every worker that could run the job has a warning', () => {
    expect(sharedOutputWarnings([old, unable], spec, limits)).toMatchObject([{ code: 'outputs_old_worker' }]);
    expect(sharedOutputWarnings([old, current], spec, limits)).toEqual([]);
    expect(sharedOutputWarnings([unable], spec, limits)).toEqual([]);
  });
});
