/** Tests the start of each trainer when several workers train a job together. */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { onWorkers } from '../../../../agent/attempt/several-nodes.ts';
import { prepareJob, type Rig } from '../../../../agent/attempt/trainer.ts';
import { aiToolkit, diffusers, kohya, onetrainer, simpletuner } from '../../trainers/configs.ts';
import { offerOf, rigOf, tempFolder } from '../builders.ts';

const node = { rank: 1, count: 3 };
const rendezvous = { address: '192.0.2.7', port: 29_501 };

/** Prepares a job of several workers on this rig. Returns the job, or the message of a refusal. */
function prepare(config: object, rig: Partial<Rig>, gpus: number[] | null = [0, 1]) {
  const offer = offerOf('j1', 'a1', { config: { ...config }, node, gpus });
  const prepared = prepareJob(offer, rigOf(tempFolder(), rig));
  return prepared.ok ? onWorkers(prepared.job, node, rendezvous, gpus?.length ?? 1) : prepared.message;
}

function prepareAccepted(...args: Parameters<typeof prepare>) {
  const job = prepare(...args);
  if (typeof job === 'string') throw new Error(job);
  return job;
}

type Checkout = 'kohya' | 'diffusers' | 'ai-toolkit' | 'onetrainer';
const withCheckout = (name: Checkout): Partial<Rig> => ({
  trainers: [{ kind: 'checkout', name, folder: '/opt/trainer', python: '/python' }],
});
const withSimpletuner: Partial<Rig> = {
  trainers: [{ kind: 'package', name: 'simpletuner', python: '/opt/st/bin/python' }],
};
const machines = [
  '--num_machines=3',
  '--machine_rank=1',
  '--main_process_ip=192.0.2.7',
  '--main_process_port=29501',
];

describe('trainers on several workers', () => {
  it.each<[string, object, Partial<Rig>]>([
    ['SimpleTuner', simpletuner, withSimpletuner],
    ['sd-scripts', kohya, withCheckout('kohya')],
    ['accelerate scripts', diffusers, withCheckout('diffusers')],
  ])('starts %s through accelerate with the rank of this machine', (_title, config, rig) => {
    const { argv } = prepareAccepted(config, rig);
    expect(argv).toEqual(expect.arrayContaining(['--multi_gpu', '--num_processes=6', ...machines]));
    expect(argv).not.toContain('--num_machines=1');
    // Each option, such as `--machine_rank=`, must have a value.
    expect(argv.filter(word => /^--(?:machine|main)_\w+=$/.test(word))).toEqual([]);
  });

  it('starts one process on each machine for a job without GPUs', () => {
    const { argv, env } = prepareAccepted(kohya, withCheckout('kohya'), null);
    expect(argv).toContain('--num_processes=3');
    expect(env).toMatchObject({ WORLD_SIZE: '3', RANK: '1', TRAINYARD_PROCESSES_PER_NODE: '1' });
  });

  it("adds the options for several machines to the owner's accelerate configuration of SimpleTuner", () => {
    const rig = { ...withSimpletuner, allowedConfigKeys: ['accelerate_config'] };
    const { argv } = prepareAccepted({ ...simpletuner, accelerate_config: '/etc/accelerate.yaml' }, rig);
    expect(argv).toEqual(
      expect.arrayContaining(['--config_file=/etc/accelerate.yaml', '--num_processes=6', ...machines]),
    );
  });

  it("passes the rendezvous to the owner's command in variables that override those of the worker", () => {
    const env = { PATH: '/bin', MASTER_ADDR: 'elsewhere', RANK: '9' };
    const job = prepareAccepted(
      { steps: 1 },
      { trainers: [{ kind: 'command', argv: ['/opt/train'], takesAll: true }], env },
    );
    expect(job.argv).toEqual(['/opt/train']);
    expect(job.env).toMatchObject({
      PATH: '/bin',
      MASTER_ADDR: '192.0.2.7',
      MASTER_PORT: '29501',
      NNODES: '3',
      NODE_RANK: '1',
      RANK: '2',
      WORLD_SIZE: '6',
      TRAINYARD_PROCESSES_PER_NODE: '2',
    });
  });

  it.each<[string, object, Partial<Rig>, string]>([
    ['ai-toolkit', aiToolkit, withCheckout('ai-toolkit'), 'ai-toolkit trains on one machine only'],
    ['OneTrainer', onetrainer, withCheckout('onetrainer'), 'OneTrainer trains on one machine only'],
    ['the self-test', { trainer: 'selftest' }, {}, 'The built-in trainings run on one machine'],
    ['the sample training', { trainer: 'digits' }, {}, 'The built-in trainings run on one machine'],
    [
      'a worker that itself has several nodes',
      kohya,
      { ...withCheckout('kohya'), nodes: { count: 2, ...rendezvous } },
      'This worker trains on all nodes of its allocation, and not together with other workers',
    ],
  ])('refuses %s for a job on several workers, with the reason', (_title, config, rig, reason) => {
    expect(prepare(config, rig)).toContain(reason);
  });

  it('uses one folder for each rank, because workers may share a work folder', () => {
    const rig = rigOf(tempFolder(), withCheckout('kohya'));
    const folders = [0, 1].map(rank => {
      const prepared = prepareJob(offerOf('j1', 'a1', { config: kohya, node: { rank, count: 2 } }), rig);
      return prepared.ok ? prepared.job.folder : prepared.message;
    });
    expect(folders).toEqual([join(rig.workDir, 'j1'), join(rig.workDir, 'j1.node-1')]);
  });
});
