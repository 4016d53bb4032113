import { Fragment, useEffect, useId, useState } from 'react';
import type { ArtifactView, CheckpointView } from '../../../../protocol/artifact.ts';
import type { CallFailure } from '../../../../protocol/client.ts';
import type { JobDetail } from '../../../../protocol/job.ts';
import { detailOf } from '../../../api/session.ts';
import { usePanel } from '../../../app/context.ts';
import { useT } from '../../../i18n/index.ts';
import { Button } from '../../../ui/button.tsx';
import { Time } from '../../../ui/time.tsx';
import { figure, sizeText } from '../figures.ts';
import { FilesTable, Delete, Download } from './table.tsx';
import { readFilesOf } from './read-files.ts';
import type { DeletionProps } from './deletion.tsx';

interface CheckpointTableProps extends DeletionProps {
  readonly job: JobDetail;
  readonly checkpoints: readonly CheckpointView[];
  /** The files that the page has loaded so far. */
  readonly files: readonly ArtifactView[];
}

const columns = ['name', 'step', 'loss', 'size', 'files', 'attempt', 'when'] as const;

export function CheckpointTable({ job, checkpoints, files, ...deletion }: CheckpointTableProps) {
  return (
    <FilesTable what="checkpoints" columns={columns}>
      {checkpoints.map(checkpoint => (
        <CheckpointRow
          key={checkpoint.name}
          job={job}
          checkpoint={checkpoint}
          file={files.find(({ key }) => key === checkpoint.name)}
          {...deletion}
        />
      ))}
    </FilesTable>
  );
}

interface CheckpointRowProps extends DeletionProps {
  readonly job: JobDetail;
  readonly checkpoint: CheckpointView;
  /** The file of a checkpoint that consists of a single file; otherwise undefined. */
  readonly file: ArtifactView | undefined;
}

function CheckpointRow({ job, checkpoint, file, ...deletion }: CheckpointRowProps) {
  const t = useT();
  const [isOpen, setOpen] = useState(false);
  const listId = useId();
  const { name, step, loss, bytes, files, attempt, created_at: at } = checkpoint;
  const number = new Intl.NumberFormat(t.language);
  return (
    <Fragment>
      <tr>
        <th scope="row" className="files-name">
          <span className="mono">{name}</span> <CheckpointChips checkpoint={checkpoint} />
        </th>
        <td>{step === null ? '–' : number.format(step)}</td>
        <td>{loss === null ? '–' : figure(loss, t.language)}</td>
        <td>{sizeText(bytes, t.language)}</td>
        <td>{number.format(files)}</td>
        <td>{number.format(attempt)}</td>
        <td>
          <Time at={at} />
        </td>
        <td>
          <span className="files-acts">
            {file === undefined ? (
              <Button
                aria-expanded={isOpen}
                aria-controls={listId}
                aria-label={t('files.checkpoint.open', { name })}
                onClick={() => setOpen(!isOpen)}
              >
                {t('files.column.files')}
              </Button>
            ) : (
              <Download file={file} />
            )}
            <Delete target={{ kind: 'checkpoint', checkpoint }} name={name} {...deletion} />
          </span>
        </td>
      </tr>
      {isOpen && (
        <tr>
          <td colSpan={columns.length + 1} id={listId}>
            <Parts job={job} checkpoint={checkpoint} />
          </td>
        </tr>
      )}
    </Fragment>
  );
}

function CheckpointChips({
  checkpoint: { newest, best, complete },
}: {
  readonly checkpoint: CheckpointView;
}) {
  const t = useT();
  return (
    <span className="chips">
      {newest && (
        <span className="chip" title={t('files.newest.what')}>
          {t('files.newest')}
        </span>
      )}{' '}
      {best && (
        <span className="chip" title={t('files.best.what')}>
          {t('files.best')}
        </span>
      )}{' '}
      {!complete && (
        <span className="chip files-incomplete" title={t('files.incomplete.what')}>
          {t('files.incomplete')}
        </span>
      )}
    </span>
  );
}

/** Lists the files of a checkpoint folder. Loads them when the list opens, and again when they change. */
function Parts({ job, checkpoint }: Pick<CheckpointRowProps, 'job' | 'checkpoint'>) {
  const t = useT();
  const { client } = usePanel();
  const [files, setFiles] = useState<readonly ArtifactView[] | null>(null);
  const [failure, setFailure] = useState<CallFailure | null>(null);
  const { id } = job;
  const { name, files: count, bytes } = checkpoint;
  useEffect(() => {
    const controller = new AbortController();
    void readFilesOf(client, id, { name, files: count }, controller.signal).then(read => {
      if (controller.signal.aborted) return;
      if (read.ok) setFiles(read.value);
      setFailure(read.ok ? null : read.failure);
    });
    return () => controller.abort();
    // A change of the count or the size means that the files have changed.
  }, [client, id, name, count, bytes]);
  if (failure !== null) {
    return (
      <p role="alert" className="trouble">
        {t('files.failed', { why: detailOf(failure) ?? t('error.unreachable') })}
      </p>
    );
  }
  return (
    <ul className="plain-list files-parts" aria-busy={files === null}>
      {files?.map(file => (
        <li key={file.key}>
          <span className="mono">{file.key.slice(name.length + 1) || file.key}</span>
          <span className="muted">{sizeText(file.bytes, t.language)}</span>
          <Download file={file} />
        </li>
      ))}
    </ul>
  );
}
