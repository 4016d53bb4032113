import type { TemplateDetail } from '../../../../../protocol/template.ts';
import type { CheckedSweep } from './sweep-values.ts';
import { useTemplateT } from './texts.tsx';
import { nameOf } from './values.ts';

interface SummaryProps extends Pick<TemplateDetail, 'parameters'> {
  readonly sweep: CheckedSweep;
}

/** Shows how many jobs a sweep submits, and which values it varies. Renders nothing for a single job. */
export function SweepSummary({ sweep: { axes, count }, parameters }: SummaryProps) {
  const t = useTemplateT();
  if (axes.length === 0) return null;
  const parts = axes.map(({ key, values }) => {
    const parameter = parameters.find(each => each.key === key);
    return `${parameter === undefined ? key : nameOf(parameter, t)} × ${values.length}`;
  });
  return (
    <p className="note sweep-summary">
      <strong>{t('templates.sweep.count', { count })}</strong> <bdi>{parts.join(', ')}</bdi>
      <span className="muted">{t('templates.sweep.first')}</span>
    </p>
  );
}
