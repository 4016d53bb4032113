import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { Link } from 'wouter';
import { maxSampleJobs, artifactsApi } from '../../../protocol/artifacts-api.ts';
import type { JobId } from '../../../protocol/ids.ts';
import { useMay } from '../../app/context.ts';
import { Button } from '../../ui/button.tsx';
import { Empty } from '../../ui/empty.tsx';
import { LoadFailure } from '../data/use-datasets.tsx';
import type { ViewProps } from './address.ts';
import { FullView } from './full-view.tsx';
import { type GallerySample, groupByJob, type JobGroup } from './model.ts';
import { useSamples } from './reads.ts';
import { useGalleryT } from './texts.tsx';
import { JobHead, Tiles } from './wall-parts.tsx';
import { columnsIn, heightOf, tileAfterKey, wallRows } from './wall-rows.ts';

const allJobs: readonly JobId[] = [];

/** The samples of all jobs, newest first, where the user chooses jobs to compare. */
export function Wall({ view, onShow }: ViewProps) {
  const t = useGalleryT();
  const canSee = useMay()(artifactsApi.download);
  const { samples, isLoaded, failure, more, reload } = useSamples(allJobs);
  const groups = useMemo(() => groupByJob(samples), [samples]);
  const [open, setOpen] = useState<GallerySample | null>(null);
  const { jobs } = view;
  const choose = (next: readonly JobId[]): void =>
    onShow({ ...view, jobs: next, isChoosing: true, position: null, prompt: null, open: null }, true);
  const toggle = (job: JobId): void =>
    choose(jobs.includes(job) ? jobs.filter(each => each !== job) : [...jobs, job]);
  return (
    <div className="page gallery-page" aria-busy={!isLoaded && failure === null}>
      <div className="page-head">
        <h1>{t('nav.gallery')}</h1>
        {samples.length > 0 && (
          <span className="muted" role="status">
            {t('gallery.summary', { count: samples.length, jobs: groups.length })}
          </span>
        )}
      </div>
      <LoadFailure failure={failure} onRetry={reload} />
      {isLoaded && samples.length === 0 && <NoSamples />}
      {samples.length > 0 && (
        <>
          <div className="gallery-bar">
            <span>
              {jobs.length === 0 ? t('gallery.choose.hint') : t('gallery.chosen', { count: jobs.length })}
            </span>
            <span className="files-acts">
              {jobs.length > 0 && <Button onClick={() => choose([])}>{t('gallery.clear')}</Button>}
              <Button
                kind={jobs.length === 0 ? 'plain' : 'primary'}
                disabled={jobs.length === 0}
                onClick={() => onShow({ ...view, isChoosing: false }, false)}
              >
                {t('gallery.compare')}
              </Button>
            </span>
          </div>
          {!canSee && <p className="muted">{t('files.mayNot', { what: t('tokens.may.queue.submit') })}</p>}
          <WallRows groups={groups} chosen={jobs} onToggle={toggle} onOpen={setOpen} />
        </>
      )}
      {more !== null && (
        <div>
          <Button onClick={more}>{t('gallery.older')}</Button>
        </div>
      )}
      {open !== null && (
        <FullView sample={open} samples={samples} onShow={setOpen} onClose={() => setOpen(null)} />
      )}
    </div>
  );
}

function NoSamples() {
  const t = useGalleryT();
  return (
    <section className="card">
      <Empty why={t('gallery.none')}>
        <Link href="/jobs" className="button button-primary">
          {t('gallery.none.jobs')}
        </Link>
      </Empty>
    </section>
  );
}

interface WallRowsProps {
  readonly groups: readonly JobGroup[];
  readonly chosen: readonly JobId[];
  readonly onToggle: (job: JobId) => void;
  readonly onOpen: (sample: GallerySample) => void;
}

/** The rows of the wall. Only rows near the viewport are rendered. Arrow keys move the focus between tiles. */
function WallRows({ groups, chosen, onToggle, onOpen }: WallRowsProps) {
  const t = useGalleryT();
  const { ref, width, top } = useBox();
  const columns = columnsIn(width);
  const rows = useMemo(() => wallRows(groups, columns), [groups, columns]);
  const virtual = useWindowVirtualizer({
    count: rows.length,
    estimateSize: index => {
      const row = rows[index];
      return row === undefined ? 0 : heightOf(row, width);
    },
    overscan: 2,
    scrollMargin: top,
  });
  useEffect(() => virtual.measure(), [virtual, rows, width]);
  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>): void => {
    const { target } = event;
    const tile = target instanceof HTMLElement ? target.dataset['tile'] : undefined;
    const [row, column] = tile?.split(' ').map(Number) ?? [];
    if (row === undefined || column === undefined) return;
    const next = tileAfterKey(rows, { row, column }, event.key);
    if (next === null) return;
    event.preventDefault();
    virtual.scrollToIndex(next.row);
    requestAnimationFrame(() =>
      ref.current?.querySelector<HTMLElement>(`[data-tile="${next.row} ${next.column}"]`)?.focus(),
    );
  };
  return (
    <div
      ref={ref}
      role="group"
      aria-label={t('files.samples')}
      onKeyDown={onKeyDown}
      className="gallery-wall"
      style={{ height: virtual.getTotalSize() }}
    >
      {virtual.getVirtualItems().map(({ index, start, size }) => {
        const row = rows[index];
        if (row === undefined) return null;
        const { job } = row.group;
        const isChosen = chosen.includes(job);
        return (
          <div
            key={row.kind === 'job' ? job : `${job} ${row.samples[0]?.view.order}`}
            className="gallery-row"
            style={{ transform: `translateY(${start - top}px)`, height: size }}
          >
            {row.kind === 'job' ? (
              <JobHead
                group={row.group}
                isChosen={isChosen}
                isFull={!isChosen && chosen.length >= maxSampleJobs}
                onToggle={onToggle}
              />
            ) : (
              <Tiles row={index} samples={row.samples} columns={columns} onOpen={onOpen} />
            )}
          </div>
        );
      })}
    </div>
  );
}

/** Returns the width of the wall and its distance from the top of the page, in pixels. */
function useBox() {
  const ref = useRef<HTMLDivElement>(null);
  const [box, setBox] = useState({ width: 0, top: 0 });
  useLayoutEffect(() => {
    const element = ref.current;
    if (element === null) return undefined;
    const measure = (): void => {
      const { width, top } = element.getBoundingClientRect();
      const next = { width: Math.floor(width), top: Math.round(top + scrollY) };
      setBox(was => (was.width === next.width && was.top === next.top ? was : next));
    };
    measure();
    // Elements above the wall can change its position when the page changes its size.
    const watch = new ResizeObserver(measure);
    watch.observe(element);
    watch.observe(document.body);
    return () => watch.disconnect();
  }, []);
  return { ref, ...box };
}
