import { useState } from 'react';
import type { ArtifactView } from '../../../../protocol/artifact.ts';
import type { JobDetail } from '../../../../protocol/job.ts';
import { useT } from '../../../i18n/index.ts';
import { Copy } from '../../../ui/copy.tsx';
import { Time } from '../../../ui/time.tsx';
import { tell } from '../../../ui/toast.tsx';
import { sizeText } from '../figures.ts';
import { Delete, Download } from './acts.tsx';
import type { DeletionProps } from './use-deletion.tsx';

interface OtherTableProps extends DeletionProps {
  readonly job: JobDetail;
  readonly files: readonly ArtifactView[];
}

const columns = ['name', 'kind', 'size', 'attempt', 'when', 'sha256'] as const;

/** Models, and whatever has no place of its own. */
export function OtherTable({ files, ...deletion }: OtherTableProps) {
  const t = useT();
  return (
    <section className="card" aria-labelledby="files-others">
      <h2 id="files-others">{t('files.others')}</h2>
      <div className="files-table" role="group" aria-labelledby="files-others" tabIndex={0}>
        <table className="events" aria-labelledby="files-others">
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
          <tbody>
            {files.map(file => (
              <tr key={file.key}>
                <th scope="row" className="files-name mono">
                  {file.key}
                </th>
                <td>{t(`files.kind.${file.kind}`)}</td>
                <td>{sizeText(file.bytes, t.language)}</td>
                <td>{file.attempt}</td>
                <td>
                  <Time at={file.created_at} />
                </td>
                <td>
                  <Sum file={file} />
                </td>
                <td>
                  <span className="files-acts">
                    <Download file={file} />
                    <Delete doomed={{ kind: 'file', file }} name={file.key} {...deletion} />
                  </span>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

/** All of it only where it can not be copied otherwise. */
function Sum({ file: { key, sha256 } }: { readonly file: ArtifactView }) {
  const t = useT();
  const [isWhole, setWhole] = useState(false);
  const showWhole = (): void => {
    setWhole(true);
    tell(t('workers.copy.byHand'));
  };
  return (
    <span className="files-sum">
      <code title={sha256}>{isWhole ? sha256 : `${sha256.slice(0, 12)}…`}</code>
      <Copy text={sha256} label={t('files.sha256.copy', { name: key })} onRefused={showWhole} />
    </span>
  );
}
