import { type ArtifactView, checkpointOf, type CheckpointView } from '../../../protocol/artifact.ts';
import { artifactsApi } from '../../../protocol/artifacts-api.ts';
import type { ValueOf } from '../../../protocol/client.ts';
import type { JobId } from '../../../protocol/ids.ts';
import { exitCodes, type Failure } from '../failure.ts';
import { printRows } from '../output.ts';
import type { RemoteSpec } from '../remote-command.ts';
import type { Remote } from '../remote.ts';
import type { Column } from '../table.ts';
import { timeText } from '../time.ts';
import { among, findNewestJob, withJobArgument } from './find.ts';
import { sizeText } from '../../../protocol/text.ts';

const fileColumns: readonly Column<ArtifactView>[] = [
  { title: 'KEY', text: ({ key }) => key },
  { title: 'KIND', text: ({ kind }) => kind, importance: 4 },
  { title: 'SIZE', text: ({ bytes }) => sizeText(bytes) },
  { title: 'TRY', text: ({ attempt }) => String(attempt), importance: 2 },
  { title: 'UPLOADED', text: ({ created_at: at }, isScreen) => timeText(at, isScreen), importance: 3 },
  { title: 'SHA-256', text: ({ sha256 }) => sha256.slice(0, 12), importance: 1 },
];

export const artifacts: RemoteSpec = {
  name: 'artifacts',
  description: 'List the files of a job, newest first',
  shape: command => withJobArgument(command, among.all),
  async act(remote, [word]) {
    const { id } = await findNewestJob(remote, word);
    const answer = await everyArtifact(remote, id);
    printRows(remote, {
      answer,
      rows: answer.artifacts,
      columns: fileColumns,
      none: `Job ${id} has no files`,
    });
  },
};

/** Maximum page size of the orchestrator. */
const maxPage = 500;

/** Fetches all artifacts and returns them as one page. Artifacts that are added during the calls are not included. */
export async function everyArtifact(
  { request }: Pick<Remote, 'request'>,
  id: JobId,
): Promise<ValueOf<typeof artifactsApi.list>> {
  const first = await request(artifactsApi.list, { params: { id }, query: { limit: maxPage } });
  const all = [...first.artifacts];
  for (let cursor = first.next_cursor; cursor !== null; ) {
    const page = await request(artifactsApi.list, { params: { id }, query: { limit: maxPage, cursor } });
    all.push(...page.artifacts);
    cursor = page.next_cursor;
  }
  return { ...first, artifacts: all, next_cursor: null };
}

const checkpointColumns: readonly Column<CheckpointView>[] = [
  { title: 'NAME', text: ({ name }) => name },
  { title: 'STEP', text: ({ step }) => (step === null ? '-' : String(step)) },
  { title: 'LOSS', text: ({ loss }) => (loss === null ? '-' : String(Number(loss.toPrecision(4)))) },
  { title: 'SIZE', text: ({ bytes }) => sizeText(bytes) },
  { title: 'FILES', text: ({ files }) => String(files), importance: 1 },
  { title: 'TRY', text: ({ attempt }) => String(attempt), importance: 2 },
  { title: 'UPLOADED', text: ({ created_at: at }, isScreen) => timeText(at, isScreen), importance: 3 },
  { title: 'NOTES', text: marks, minWidth: 16 },
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
  shape: command => withJobArgument(command, among.all),
  async act(remote, [word]) {
    const { id } = await findNewestJob(remote, word);
    const answer = await remote.request(artifactsApi.checkpoints, { params: { id } });
    printRows(remote, {
      answer,
      rows: answer.checkpoints,
      columns: checkpointColumns,
      none: `Job ${id} has no checkpoints`,
    });
  },
};

type FileSelection =
  | { readonly ok: true; readonly files: readonly ArtifactView[] }
  | { readonly ok: false; readonly failure: Failure };

const notFound = (message: string): FileSelection => ({
  ok: false,
  failure: { code: exitCodes.notFound, message },
});

/** Returns the files with these names and all files in folders with these names. Without names, returns all files. */
export function filesNamed(files: readonly ArtifactView[], names: readonly string[]): FileSelection {
  if (names.length === 0) return { ok: true, files };
  const paths = names.map(name => name.replace(/\/+$/, ''));
  const isNamed = (key: string, name: string): boolean => key === name || key.startsWith(`${name}/`);
  const unknown = paths.find(name => !files.some(({ key }) => isNamed(key, name)));
  if (unknown !== undefined)
    return notFound(
      `The job has no file or folder "${unknown}". To list its files, run "trainyard jobs artifacts"`,
    );
  return { ok: true, files: files.filter(({ key }) => paths.some(name => isNamed(key, name))) };
}

/** Returns all files of one checkpoint. `word` is its name, `newest` or `best`. */
export function filesOfCheckpoint(
  files: readonly ArtifactView[],
  listed: readonly CheckpointView[],
  word: string,
): FileSelection {
  const checkpoint = listed.find(
    ({ name, newest, best }) => (word === 'newest' && newest) || (word === 'best' && best) || name === word,
  );
  if (checkpoint === undefined) {
    return notFound(
      word === 'newest' || word === 'best'
        ? `The job has no ${word} checkpoint. To list its checkpoints, run "trainyard jobs checkpoints"`
        : `The job has no checkpoint "${word}". To list its checkpoints, run "trainyard jobs checkpoints"`,
    );
  }
  // The folder of a checkpoint may also contain samples, which do not belong to the checkpoint.
  const withoutSamples = files.filter(
    ({ key, kind }) => kind !== 'sample_image' && checkpointOf(key)?.name === checkpoint.name,
  );
  return { ok: true, files: withoutSamples };
}
