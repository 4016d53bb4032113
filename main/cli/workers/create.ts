import { Option } from 'commander';
import { NewWorker, workersApi } from '../../../protocol/admin-api.ts';
import { WorkerType } from '../../../protocol/worker.ts';
import { addLabel } from '../flags.ts';
import { readInput } from '../input.ts';
import type { RemoteSpec } from '../remote-command.ts';
import { showIssued } from './issued.ts';

export const create: RemoteSpec = {
  name: 'create',
  description: 'Create a worker and print its join command',
  examples: [
    'trainyard workers create rig-1',
    'trainyard workers create rig-2 --type ephemeral --label gpu_type=a100',
  ],
  shape: command =>
    command
      .argument('<name>', 'name of the worker')
      .addOption(
        new Option('--type <type>', 'kind of worker; ephemeral workers are removed after an hour offline')
          .choices(WorkerType.options)
          .default('persistent'),
      )
      .option('--label <key=value>', 'label that jobs can require; repeatable', addLabel),
  async act(remote, [name]) {
    const { type, label } = remote.flags;
    const body = readInput(
      NewWorker,
      { name, worker_type: type, labels: label },
      { name: 'NAME', worker_type: '--type', labels: '--label' },
    );
    await showIssued(remote, await remote.ask(workersApi.create, { body }));
  },
};
