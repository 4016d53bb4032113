import type { CallFailure } from '../../../protocol/client.ts';
import { detailOf } from '../../api/client.ts';
import { useT } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';

interface TroubleProps {
  readonly failure: CallFailure | null;
  readonly onRetry: () => void;
}

export function Trouble({ failure, onRetry }: TroubleProps) {
  const t = useT();
  if (failure === null) return null;
  return (
    <p className="trouble" role="alert">
      {detailOf(failure) ?? t('error.unreachable')} <Button onClick={onRetry}>{t('action.retry')}</Button>
    </p>
  );
}
