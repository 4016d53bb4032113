import { type KeyboardEvent, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { WorkerLink } from '../../app/links.tsx';
import { axisHeight, drawTimeline } from './draw.ts';
import { barAt, barHeight, type Layout, neighbour, type PlacedBar, rowsWithin } from './layout.ts';
import { usePaint } from './paint.ts';
import { localDays, reveal, type Scale, type Tick, ticksOf, timeToX, utcDays, xToTime } from './scale.ts';
import { barText, tickTextOf, useTimelineT } from './texts.tsx';
import { useGestures } from './use-gestures.ts';
import { type Host, maxHeight } from './use-host.ts';
import type { View } from './use-view.ts';

interface ChartProps {
  readonly layout: Layout;
  readonly view: View;
}

/** Maximum horizontal distance between a click or tap and a bar, in pixels. */
const tolerancePx = 4;
/** Share of the visible range by which an arrow key pans. */
const panShare = 1 / 8;

/** Draws the bars on a canvas. Adds the names of the rows, next to or above them, and a link for the focused bar. */
export function Chart({ layout, view, host }: ChartProps & { readonly host: Host }) {
  const t = useTimelineT();
  const [, go] = useLocation();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [active, setActive] = useState<string | null>(null);
  const { nameWidth } = host;
  const width = Math.max(1, host.width - nameWidth);
  const height = Math.min(maxHeight, axisHeight + layout.height);
  const { range, now } = view;
  const scale = useMemo(() => ({ ...range, width }), [range, width]);
  const ticks = useMemo(() => ticksOf(scale, t.zone === 'utc' ? utcDays : localDays), [scale, t.zone]);
  const open = ({ bar }: PlacedBar): void => go(`/jobs/${bar.jobId}`);
  const find = (x: number, y: number): PlacedBar | null => {
    const perPx = (scale.to - scale.from) / scale.width;
    const rowY = y - axisHeight + host.scrollTop;
    return y < axisHeight ? null : barAt(layout, rowY, xToTime(scale, x), tolerancePx * perPx);
  };
  const { hovered, handlers } = useGestures({ canvas, scale, view, find, onOpen: open });
  useDrawing(canvas, { layout, scale, ticks, now, height, scrollTop: host.scrollTop }, hovered);

  const workerOf = ({ row, bar }: PlacedBar): string => layout.rows[row]?.name ?? bar.workerId;
  const textOf = (bar: PlacedBar): string => barText(t, bar, workerOf(bar), now);
  const isVisible = ({ bar, end }: PlacedBar): boolean => end >= range.from && bar.from <= range.to;
  const reached = layout.bars.find(({ bar }) => bar.key === active) ?? layout.bars.find(isVisible) ?? null;
  const select = (bar: PlacedBar): void => {
    setActive(bar.bar.key);
    view.show(reveal(range, bar.bar.from, bar.end));
    host.reveal(bar.top, bar.top + barHeight + axisHeight);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const target = event.target instanceof HTMLAnchorElement ? reached : null;
    const act = keyAct(event, view, layout, target, select);
    if (act === null) return;
    event.preventDefault();
    act();
  };
  return (
    // The element is focusable, because users must be able to scroll the rows with the keyboard.
    <div
      ref={host.ref}
      className="timeline-host"
      role="group"
      tabIndex={0}
      aria-label={t('timeline.label')}
      aria-describedby="timeline-help"
      data-names={nameWidth === 0 ? 'above' : 'beside'}
      onKeyDown={onKeyDown}
      onScroll={host.onScroll}
    >
      <p id="timeline-help" className="unseen">
        {t('timeline.help')}
      </p>
      <div className="timeline-body" style={{ height: axisHeight + layout.height }}>
        <canvas
          ref={canvas}
          aria-hidden="true"
          className="timeline-canvas"
          data-over={hovered !== null}
          style={{ width, height, marginLeft: nameWidth }}
          {...handlers}
        />
        <Names layout={layout} scrollTop={host.scrollTop} height={height} width={nameWidth} />
        {reached !== null && (
          <Link
            key={reached.bar.key}
            ref={element => {
              if (active === reached.bar.key) host.focusOnce(element, active);
            }}
            href={`/jobs/${reached.bar.jobId}`}
            className="timeline-bar"
            aria-label={textOf(reached)}
            onFocus={() => setActive(reached.bar.key)}
            style={boxOf(reached, scale, nameWidth)}
          />
        )}
        {hovered !== null && <Tip bar={hovered} text={textOf(hovered)} {...{ scale, nameWidth }} />}
      </div>
    </div>
  );
}

/** Minimum width of the frame around a bar, in pixels. */
const minFrame = 3;

/** Returns the frame of the visible part of a bar. */
function boxOf({ bar, end, top }: PlacedBar, scale: Scale, nameWidth: number) {
  const left = Math.min(scale.width, Math.max(0, timeToX(scale, bar.from)));
  const right = Math.min(scale.width, timeToX(scale, end));
  return {
    left: nameWidth + left,
    top: top + axisHeight,
    width: Math.max(minFrame, right - left),
    height: barHeight,
  };
}

interface TipProps {
  readonly bar: PlacedBar;
  readonly text: string;
  readonly scale: Scale;
  readonly nameWidth: number;
}

function Tip({ bar, text, scale, nameWidth }: TipProps) {
  const { left, top } = boxOf(bar, scale, nameWidth);
  const isRight = left > nameWidth + scale.width / 2;
  const side = isRight ? { right: nameWidth + scale.width - left } : { left };
  return (
    <div className="timeline-tip" aria-hidden="true" style={{ top: top + barHeight + 4, ...side }}>
      {text}
    </div>
  );
}

function useDrawing(
  canvas: { readonly current: HTMLCanvasElement | null },
  picture: Omit<Parameters<typeof drawTimeline>[1], 'tickText' | 'hovered'>,
  hovered: PlacedBar | null,
): void {
  const t = useTimelineT();
  const paint = usePaint();
  useLayoutEffect(() => {
    const element = canvas.current;
    const context = element?.getContext('2d') ?? null;
    if (element === null || context === null) return;
    const ratio = globalThis.devicePixelRatio;
    const width = Math.round(picture.scale.width * ratio);
    const height = Math.round(picture.height * ratio);
    // Set the size only when it has changed, because setting it clears the canvas and takes time.
    if (element.width !== width) element.width = width;
    if (element.height !== height) element.height = height;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const tickText = (tick: Tick): string => tickTextOf(t, tick);
    drawTimeline(context, { ...picture, hovered: hovered?.bar.key ?? null, tickText }, paint);
  });
}

interface NamesProps {
  readonly layout: Layout;
  readonly scrollTop: number;
  readonly height: number;
  /** Width of the column of names in pixels; 0 if the names are above their rows. */
  readonly width: number;
}

/** The axis may cover at most this many pixels of a name's height. */
const maxCovered = 8;

/** The names of the visible rows, except names that the axis covers. */
function Names({ layout, scrollTop, height, width }: NamesProps) {
  const rows = rowsWithin(layout.rows, scrollTop, scrollTop + height).filter(
    ({ top }) => top > scrollTop - maxCovered,
  );
  return (
    <ul className="timeline-names" style={width === 0 ? {} : { width }}>
      {rows.map(({ id, name, isDeleted, top, height: rowHeight }) => (
        <li key={id} style={{ top: top + axisHeight, ...(width > 0 && { height: rowHeight }) }}>
          <WorkerLink id={id} isDeleted={isDeleted} title={name ?? id}>
            {name ?? id}
          </WorkerLink>
        </li>
      ))}
    </ul>
  );
}

const directions = { ArrowLeft: 'previous', ArrowRight: 'next', ArrowUp: 'up', ArrowDown: 'down' } as const;
const isArrow = (key: string): key is keyof typeof directions => Object.hasOwn(directions, key);

/** Returns the action of a key; null for none. Arrow keys select another bar if `bar` is given; otherwise, they pan. */
function keyAct(
  { key, ctrlKey, metaKey, altKey }: KeyboardEvent,
  view: View,
  layout: Layout,
  bar: PlacedBar | null,
  select: (bar: PlacedBar) => void,
): (() => void) | null {
  if (ctrlKey || metaKey || altKey) return null;
  if (key === '+' || key === '=') return () => view.step(1);
  if (key === '-') return () => view.step(-1);
  if (key === 'n') return view.follow;
  if (bar !== null && isArrow(key)) {
    const next = neighbour(layout, bar, directions[key]);
    return next === null ? null : () => select(next);
  }
  if (key === 'ArrowLeft') return () => view.panBy(-panShare);
  if (key === 'ArrowRight') return () => view.panBy(panShare);
  return null;
}
