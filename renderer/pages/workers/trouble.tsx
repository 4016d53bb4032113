import type { CallFailure } from '../../../protocol/client.ts';
import { detailOf } from '../../api/client.ts';
import { useT } from '../../i18n/index.ts';

/** Shows why data could not be loaded; renders nothing without a failure. */
export function Trouble({ failure }: { readonly failure: CallFailure | null }) {
  const t = useT();
  if (failure === null) return null;
  return (
    <p role="alert" className="trouble">
      {detailOf(failure) ?? t('error.unreachable')}
    </p>
  );
}
