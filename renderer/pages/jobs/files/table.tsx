import type { ReactNode } from 'react';
import { useT } from '../../../i18n/index.ts';
import type { ArtifactView } from '../../../../protocol/artifact.ts';
import { artifactsApi } from '../../../../protocol/artifacts-api.ts';
import { usePanel } from '../../../app/context.ts';
import { Allowed } from '../../../app/guarded.tsx';
import { Button } from '../../../ui/button.tsx';
import type { DeletionProps, DeletionTarget } from './deletion.tsx';
import { fileUrl } from './pictures.ts';

interface DownloadProps {
  readonly file: ArtifactView;
}

/** Downloads a file through the browser, which shows the progress and can resume. */
export function Download({ file: { job_id: id, key } }: DownloadProps) {
  const t = useT();
  const { baseUrl } = usePanel();
  return (
    <Allowed call={artifactsApi.download}>
      <a
        className="button button-plain"
        href={fileUrl(baseUrl, id, key).href}
        download
        aria-label={t('files.download.of', { name: key })}
      >
        {t('files.download')}
      </a>
    </Allowed>
  );
}

interface DeleteProps extends DeletionProps {
  readonly target: DeletionTarget;
  readonly name: string;
}

export function Delete({ target, name, onDelete, busy }: DeleteProps) {
  const t = useT();
  return (
    <Allowed call={artifactsApi.remove}>
      <Button
        kind="quiet"
        disabled={busy !== null}
        aria-label={t('files.delete.of', { name })}
        onClick={() => onDelete(target)}
      >
        {t(busy === name ? 'files.deleting' : 'files.delete')}
      </Button>
    </Allowed>
  );
}

type Column = 'name' | 'step' | 'loss' | 'size' | 'files' | 'kind' | 'attempt' | 'when' | 'sha256';

interface FilesTableProps {
  readonly what: 'checkpoints' | 'others';
  /** The data columns; a column with the actions follows. */
  readonly columns: readonly Column[];
  readonly children: ReactNode;
}

/** A titled table of files. On a narrow page, the table scrolls sideways, also by keyboard. */
export function FilesTable({ what, columns, children }: FilesTableProps) {
  const t = useT();
  const titleId = `files-${what}`;
  return (
    <section className="card" aria-labelledby={titleId}>
      <h2 id={titleId}>{t(`files.${what}`)}</h2>
      <div className="files-table" role="group" aria-labelledby={titleId} tabIndex={0}>
        <table className="events" aria-labelledby={titleId}>
          <thead>
            <tr>
              {columns.map(name => (
                <th key={name} scope="col">
                  {t(`files.column.${name}`)}
                </th>
              ))}
              <th scope="col">
                <span className="unseen">{t('files.column.acts')}</span>
              </th>
            </tr>
          </thead>
          <tbody>{children}</tbody>
        </table>
      </div>
    </section>
  );
}
