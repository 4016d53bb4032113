import type { JobId } from '../../../protocol/ids.ts';
import { Button } from '../../ui/button.tsx';
import { ComparisonTable } from './comparison-table.tsx';
import { FullView } from './full-view.tsx';
import type { SamplesRead } from './reads.ts';
import { StepBar } from './step-bar.tsx';
import { useGalleryT } from './texts.tsx';
import type { useComparison } from './use-comparison.ts';

interface ComparisonProps {
  readonly jobs: readonly JobId[];
  readonly read: Pick<SamplesRead, 'samples' | 'more'>;
  readonly shown: ReturnType<typeof useComparison>;
  /** Fallback names for jobs without samples. */
  readonly names?: ReadonlyMap<JobId, string>;
  readonly onRemove?: (job: JobId) => void;
}

/** The samples of the jobs at one step, as a table. */
export function Comparison({ jobs, read: { samples }, shown, names, onRemove }: ComparisonProps) {
  const { units, unit, positions, index, position, rows } = shown;
  return (
    <>
      <StepBar
        {...{ units, unit, positions, index }}
        onMove={shown.moveTo}
        onUnit={next => shown.change({ unit: next, position: null })}
      />
      <ComparisonTable
        {...{ jobs, samples, rows, position }}
        {...(names !== undefined && { names })}
        {...(onRemove !== undefined && { onRemove })}
        onOpen={shown.openSample}
        onFocus={shown.noteFocus}
      />
    </>
  );
}

/** The button that loads older samples, and the sample in full screen. */
export function ComparisonEnd({ read: { samples, more }, shown }: Pick<ComparisonProps, 'read' | 'shown'>) {
  const t = useGalleryT();
  return (
    <>
      {more !== null && (
        <div>
          <Button onClick={more}>{t('gallery.older')}</Button>
        </div>
      )}
      {shown.open !== null && (
        <FullView
          sample={shown.open}
          samples={samples}
          onShow={shown.showInFull}
          onClose={() => shown.change({ open: null })}
        />
      )}
    </>
  );
}
