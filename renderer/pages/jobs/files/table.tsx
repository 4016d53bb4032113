import type { ReactNode } from 'react';
import { useT } from '../../../i18n/index.ts';

type Column = 'name' | 'step' | 'loss' | 'size' | 'files' | 'kind' | 'attempt' | 'when' | 'sha256';

interface FilesTableProps {
  readonly what: 'checkpoints' | 'others';
  /** A column for actions follows them. */
  readonly columns: readonly Column[];
  readonly children: ReactNode;
}

/** A section that scrolls sideways where it is too narrow, also by keyboard. */
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
