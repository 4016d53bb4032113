import { Option } from 'commander';
import { NewWorker, workersApi } from '../../../protocol/admin-api.ts';
import { WorkerType } from '../../../protocol/worker.ts';
import { addLabel } from '../flags.ts';
import { readInput } from '../input.ts';
import type { RemoteSpec } from '../remote-command.ts';
import { showIssued } from './issued.ts';

export const create: RemoteSpec = {
  name: 'create',
  description: 'Create a worker, and print this once how it joins',
  shape: command =>
    command
      .argument('<name>', 'how you call it')
      .addOption(
        new Option('--type <type>', 'ephemeral ones are removed an hour after they were last seen')
          .choices(WorkerType.options)
          .default('persistent'),
      )
      .option('--label <key=value>', 'a label that jobs can ask for; repeat it for more', addLabel),
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
