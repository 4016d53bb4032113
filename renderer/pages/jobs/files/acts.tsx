import type { ArtifactView } from '../../../../protocol/artifact.ts';
import { artifactsApi } from '../../../../protocol/artifacts-api.ts';
import { usePanel } from '../../../app/context.ts';
import { Allowed } from '../../../app/guarded.tsx';
import { useT } from '../../../i18n/index.ts';
import { Button } from '../../../ui/button.tsx';
import type { DeletionProps, Doomed } from './use-deletion.tsx';
import { fileUrl } from './use-pictures.ts';

interface DownloadProps {
  readonly file: ArtifactView;
}

/** A download by the browser, which shows its progress and can resume it. */
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
  readonly doomed: Doomed;
  readonly name: string;
}

export function Delete({ doomed, name, onDelete, busy }: DeleteProps) {
  const t = useT();
  return (
    <Allowed call={artifactsApi.remove}>
      <Button
        kind="quiet"
        disabled={busy !== null}
        aria-label={t('files.delete.of', { name })}
        onClick={() => onDelete(doomed)}
      >
        {t(busy === name ? 'files.deleting' : 'files.delete')}
      </Button>
    </Allowed>
  );
}
