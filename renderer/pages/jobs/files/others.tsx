import { useState } from 'react';
import type { ArtifactView } from '../../../../protocol/artifact.ts';
import type { JobDetail } from '../../../../protocol/job.ts';
import { useT } from '../../../i18n/index.ts';
import { Copy } from '../../../ui/button.tsx';
import { Time } from '../../../ui/time.tsx';
import { showToast } from '../../../ui/toast.tsx';
import { sizeText } from '../figures.ts';
import { FilesTable, Delete, Download } from './table.tsx';
import type { DeletionProps } from './deletion.tsx';

interface OtherTableProps extends DeletionProps {
  readonly job: JobDetail;
  readonly files: readonly ArtifactView[];
}

const columns = ['name', 'kind', 'size', 'attempt', 'when', 'sha256'] as const;

/** Lists models and all files that are neither samples nor checkpoints. */
export function OtherTable({ files, ...deletion }: OtherTableProps) {
  const t = useT();
  return (
    <FilesTable what="others" columns={columns}>
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
            <FileHash file={file} />
          </td>
          <td>
            <span className="files-acts">
              <Download file={file} />
              <Delete target={{ kind: 'file', file }} name={file.key} {...deletion} />
            </span>
          </td>
        </tr>
      ))}
    </FilesTable>
  );
}

/** Shows the start of a file's SHA-256, with a button that copies the whole hash. Shows the whole hash if copying fails. */
function FileHash({ file: { key, sha256 } }: { readonly file: ArtifactView }) {
  const t = useT();
  const [isWhole, setWhole] = useState(false);
  const showWhole = (): void => {
    setWhole(true);
    showToast(t('workers.copy.byHand'));
  };
  return (
    <span className="files-sum">
      <code title={sha256}>{isWhole ? sha256 : `${sha256.slice(0, 12)}…`}</code>
      <Copy text={sha256} label={t('files.sha256.copy', { name: key })} onFailed={showWhole} />
    </span>
  );
}
