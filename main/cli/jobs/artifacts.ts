import type { ArtifactView } from '../../../protocol/artifact.ts';
import { artifactsApi } from '../../../protocol/artifacts-api.ts';
import type { ValueOf } from '../../../protocol/client.ts';
import type { JobId } from '../../../protocol/ids.ts';
import { sizeText } from '../../../protocol/size-text.ts';
import { printRows } from '../output.ts';
import type { Remote } from '../remote.ts';
import type { RemoteSpec } from '../remote-command.ts';
import type { Column } from '../table.ts';
import { among, takesJob } from './argument.ts';
import { findNewestJob } from './find.ts';

const columns: readonly Column<ArtifactView>[] = [
  { title: 'KEY', text: ({ key }) => key },
  { title: 'KIND', text: ({ kind }) => kind },
  { title: 'SIZE', text: ({ bytes }) => sizeText(bytes) },
  { title: 'TRY', text: ({ attempt }) => String(attempt) },
  { title: 'UPLOADED', text: ({ created_at: at }) => `${at.slice(0, 16)}Z` },
  { title: 'SHA-256', text: ({ sha256 }) => sha256.slice(0, 12) },
];

export const artifacts: RemoteSpec = {
  name: 'artifacts',
  description: 'List the files of a job, newest first',
  shape: command => takesJob(command, among.all),
  async act(remote, [word]) {
    const { id } = await findNewestJob(remote, word);
    const answer = await everyArtifact(remote, id);
    printRows(remote, {
      answer,
      rows: answer.artifacts,
      columns,
      none: `Job ${id} has no files`,
    });
  },
};

/** Maximum page size of the orchestrator. */
const maxPage = 500;

/** Fetches all artifacts as one page. It leaves out artifacts that are added in the meantime. */
export async function everyArtifact(
  { ask }: Pick<Remote, 'ask'>,
  id: JobId,
): Promise<ValueOf<typeof artifactsApi.list>> {
  const first = await ask(artifactsApi.list, { params: { id }, query: { limit: maxPage } });
  const found = [...first.artifacts];
  for (let cursor = first.next_cursor; cursor !== null; ) {
    const page = await ask(artifactsApi.list, { params: { id }, query: { limit: maxPage, cursor } });
    found.push(...page.artifacts);
    cursor = page.next_cursor;
  }
  return { ...first, artifacts: found, next_cursor: null };
}
