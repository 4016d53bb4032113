import type { CheckpointView } from '../../../protocol/artifact.ts';
import { artifactsApi } from '../../../protocol/artifacts-api.ts';
import { sizeText } from '../../../protocol/size-text.ts';
import { printRows } from '../output.ts';
import type { RemoteSpec } from '../remote-command.ts';
import type { Column } from '../table.ts';
import { among, takesJob } from './argument.ts';
import { findNewestJob } from './find.ts';

const columns: readonly Column<CheckpointView>[] = [
  { title: 'NAME', text: ({ name }) => name },
  { title: 'STEP', text: ({ step }) => (step === null ? '-' : String(step)) },
  { title: 'LOSS', text: ({ loss }) => (loss === null ? '-' : String(Number(loss.toPrecision(4)))) },
  { title: 'SIZE', text: ({ bytes }) => sizeText(bytes) },
  { title: 'FILES', text: ({ files }) => String(files) },
  { title: 'TRY', text: ({ attempt }) => String(attempt) },
  { title: 'UPLOADED', text: ({ created_at: at }) => `${at.slice(0, 16)}Z` },
  { title: 'WHAT', text: marks },
];

function marks({ newest, best, complete }: CheckpointView): string {
  const all = [
    newest && 'newest: the next attempt continues from it',
    best && 'best',
    !complete && 'incomplete',
  ];
  return all.filter(mark => mark !== false).join(', ');
}

export const checkpoints: RemoteSpec = {
  name: 'checkpoints',
  description: 'List the checkpoints of a job, newest first',
  shape: command => takesJob(command, among.all),
  async act(remote, [word]) {
    const { id } = await findNewestJob(remote, word);
    const answer = await remote.ask(artifactsApi.checkpoints, { params: { id } });
    printRows(remote, {
      answer,
      rows: answer.checkpoints,
      columns,
      none: `Job ${id} has no checkpoints`,
    });
  },
};
