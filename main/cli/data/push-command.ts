import { basename, resolve } from 'node:path';
import { DatasetName } from '../../../protocol/datasets-api.ts';
import { sizeText } from '../../../protocol/size-text.ts';
import { isOn, textOf } from '../flags.ts';
import { readInput } from '../input.ts';
import { printOne } from '../output.ts';
import type { RemoteSpec } from '../remote-command.ts';
import { indexData, pushData } from './push.ts';

export const push: RemoteSpec = {
  name: 'push',
  description: 'Store a folder or file of training data. Only new files are sent',
  examples: ['trainyard data push ./cats', 'trainyard data push /data/cats --name cats --keep'],
  shape: command =>
    command
      .argument('<path>', 'folder or file to store')
      .option('--name <name>', 'name of the dataset (default: the name of the folder)')
      .option('--keep', 'pin this version, so that it is kept even if no job uses it'),
  async act(remote, [path = '']) {
    const { flags } = remote;
    const name = readInput(DatasetName, textOf(flags, 'name') ?? basename(resolve(path)), { '': '--name' });
    const folder = await indexData(remote, path);
    const { dataset, sent } = await pushData(remote, folder, { name, isPinned: isOn(flags, 'keep') });
    printOne(remote, {
      answer: { ...dataset, sent_files: sent.files, sent_bytes: sent.bytes, skipped_files: folder.skipped },
      facts: [
        ['Dataset', dataset.name],
        ['Version', dataset.version.slice(0, 12)],
        ['Size', `${dataset.files} files, ${sizeText(dataset.bytes)}`],
        [
          'Sent',
          sent.files === 0
            ? 'nothing, all files are already stored'
            : `${sent.files} files, ${sizeText(sent.bytes)}`,
        ],
      ],
    });
  },
};
