import { resolve } from 'node:path';
import type { ArtifactView } from '../../../protocol/artifact.ts';
import { artifactsApi } from '../../../protocol/artifacts-api.ts';
import { CommandEnd, exitCodes, fail, type Failure } from '../failure.ts';
import { isOn, textOf } from '../flags.ts';
import { printRows } from '../output.ts';
import { bar, createDisplay } from '../progress-bar.ts';
import type { RemoteSpec } from '../remote-command.ts';
import type { Remote } from '../remote.ts';
import type { Column } from '../table.ts';
import { everyArtifact, filesNamed, filesOfCheckpoint } from './files.ts';
import { among, findNewestJob, withJobArgument } from './find.ts';
import { saveFile } from './save-file.ts';
import { sizeText } from '../../../protocol/text.ts';

interface Row extends Readonly<Record<string, unknown>> {
  readonly key: string;
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly outcome: string;
}

const columns: readonly Column<Row>[] = [
  { title: 'FILE', text: ({ path }) => path },
  { title: 'SIZE', text: ({ bytes }) => sizeText(bytes) },
  { title: 'RESULT', text: ({ outcome }) => outcome },
];

export const download: RemoteSpec = {
  name: 'download',
  description: 'Download all files of a job, or selected ones',
  examples: [
    'trainyard jobs download my-config --to ./results',
    'trainyard jobs download my-config --checkpoint best',
  ],
  shape: command =>
    withJobArgument(command, among.all)
      .argument('[key...]', 'keys of files or folders (default: all files)')
      .option('--to <folder>', 'destination (default: the current folder)')
      .option('--checkpoint <name>', 'only the files of this checkpoint: a name, "newest" or "best"')
      .option('--overwrite', 'replace existing files'),
  async act(remote, [word, ...names]) {
    const checkpoint = textOf(remote.flags, 'checkpoint');
    if (checkpoint !== null && names.length > 0)
      fail(exitCodes.usage, 'Specify keys or --checkpoint, not both');
    const { id } = await findNewestJob(remote, word);
    const { artifacts } = await everyArtifact(remote, id);
    const selection =
      checkpoint === null
        ? filesNamed(artifacts, names)
        : filesOfCheckpoint(
            artifacts,
            (await remote.request(artifactsApi.checkpoints, { params: { id } })).checkpoints,
            checkpoint,
          );
    if (!selection.ok) throw new CommandEnd(selection.failure);
    const { rows, failure } = await saveAll(remote, selection.files);
    const none = `Job ${id} has no files`;
    if (failure === null || rows.length > 0)
      printRows(remote, { answer: { job_id: id, files: rows }, rows, columns, none });
    if (failure !== null) throw new CommandEnd(failure);
  },
};

interface SavedFiles {
  readonly rows: readonly Row[];
  /** The failure that ended the download early. */
  readonly failure: Failure | null;
}

/** Downloads files one after another. If one fails, the result also contains the finished files. */
async function saveAll(remote: Remote, files: readonly ArtifactView[]): Promise<SavedFiles> {
  const { flags, terminal } = remote;
  const folder = resolve(textOf(flags, 'to') ?? '.');
  const total = files.reduce((sum, { bytes }) => sum + bytes, 0);
  const display = createDisplay(terminal.err, terminal.errScreen, lineOf);
  const rows: Row[] = [];
  let before = 0;
  try {
    for (const file of files) {
      const { key, bytes, sha256 } = file;
      const onBytes = (bytesOfFile: number): void =>
        display.show({
          percent: total === 0 ? 100 : (100 * (before + bytesOfFile)) / total,
          key,
          done: before + bytesOfFile,
          total,
        });
      const options = { folder, isOverwriting: isOn(flags, 'overwrite'), onBytes };
      rows.push({ key, bytes, sha256, ...(await saveFile(remote, file, options)) });
      before += bytes;
    }
    return { rows, failure: null };
  } catch (cause) {
    if (!(cause instanceof CommandEnd)) throw cause;
    return { rows, failure: cause.failure };
  } finally {
    display.finish();
  }
}

interface Shown {
  readonly percent: number;
  readonly key: string;
  readonly done: number;
  readonly total: number;
}

const lineOf = ({ percent, key, done, total }: Shown): string =>
  `${bar(percent)}  ${sizeText(done)} of ${sizeText(total)}  ${key}`;
