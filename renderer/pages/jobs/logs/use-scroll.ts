import { useVirtualizer } from '@tanstack/react-virtual';
import { type RefObject, useEffect, useLayoutEffect, useRef, useState } from 'react';

/** Height of a row in pixels; keep in sync with log.css. */
const rowHeight = 17;
/** Maximum height of an element in Firefox, in CSS pixels. */
const maxHeightPx = 17_500_000;
/** Maximum height of an element in Chromium, in device pixels. */
const maxDeviceHeightPx = 33_000_000;
/**
 * The row count is rounded up to a multiple of this number, because the virtualizer measures all rows again whenever the
 * row count changes.
 */
const rowCountStep = 4_096;
const overscanRows = 30;

export interface ScrollOptions {
  /** The existing lines: from `first` up to, but not including, `end`. */
  readonly first: number;
  readonly end: number;
  readonly isWrapped: boolean;
}

export interface ShownLine {
  readonly line: number;
  readonly top: number;
}

export interface LogScroll {
  readonly scroller: RefObject<HTMLDivElement | null>;
  readonly lines: readonly ShownLine[];
  readonly height: number;
  /** Measures a row; null while all rows have the same height. */
  readonly measure: ((row: HTMLElement | null) => void) | null;
  /** True while the view follows the end of the log. */
  readonly isFollowing: boolean;
  /** Number of lines that arrived since the view stopped following the end. */
  readonly newBelow: number;
  /** The scrollable lines: all lines, unless they would exceed the maximum height of an element. */
  readonly reach: { readonly from: number; readonly to: number };
  readonly toLine: (line: number) => void;
  readonly toEnd: () => void;
  readonly onScroll: () => void;
  /** The first visible line. */
  readonly topLine: () => number;
}

/** Manages the scroll position in a log. Initially, the view follows the end. */
export function useLogScroll({ first, end, isWrapped }: ScrollOptions): LogScroll {
  const scroller = useRef<HTMLDivElement>(null);
  const maxRows = Math.floor(Math.min(maxHeightPx, maxDeviceHeightPx / devicePixelRatio) / rowHeight);
  const [isFollowing, setFollowing] = useState(true);
  /** The first scrollable line while the view does not follow the end. */
  const [base, setBase] = useState(first);
  /** The value of `end` when the view stopped following. */
  const [leftAt, setLeftAt] = useState(end);
  const [target, setTarget] = useState<{ readonly line: number } | null>(null);
  const lastTop = useRef(0);
  const from = isFollowing ? Math.max(first, end - maxRows) : base;
  const count = Math.min(end - from, maxRows);

  const virtual = useVirtualizer({
    count: Math.ceil(count / rowCountStep) * rowCountStep,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    getItemKey: index => from + index,
    overscan: overscanRows,
  });
  const beyond = virtual.options.count - count;
  const height = isWrapped ? virtual.getTotalSize() - beyond * rowHeight : count * rowHeight;
  const stopFollowing = (): void => {
    if (!isFollowing) return;
    setFollowing(false);
    setBase(from);
    setLeftAt(end);
  };

  useEffect(() => virtual.measure(), [virtual, isWrapped]);
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!isFollowing || element === null) return;
    element.scrollTop = element.scrollHeight;
    lastTop.current = element.scrollTop;
  });
  useLayoutEffect(() => {
    if (target !== null) virtual.scrollToIndex(target.line - base, { align: 'center' });
    // Scroll once for each target line, and again when `base` changes the rows' positions.
  }, [target, base, virtual]);

  return {
    scroller,
    lines: virtual
      .getVirtualItems()
      .filter(({ index }) => index < count)
      .map(({ index, start }) => ({ line: from + index, top: start })),
    height,
    measure: isWrapped ? virtual.measureElement : null,
    isFollowing,
    newBelow: isFollowing ? 0 : Math.max(0, end - leftAt),
    reach: { from, to: from + count },
    toLine(line) {
      const isNear = line >= from && line < from + count;
      setFollowing(false);
      if (isFollowing) setLeftAt(end);
      setBase(isNear ? from : Math.max(first, Math.min(line - Math.floor(maxRows / 2), end - maxRows)));
      setTarget({ line });
    },
    toEnd() {
      setTarget(null);
      setFollowing(true);
    },
    onScroll() {
      const element = scroller.current;
      if (element === null) return;
      const { scrollTop: top, scrollHeight: whole, clientHeight: visible } = element;
      const isAtEnd = whole - top - visible < rowHeight && from + count === end;
      if (isAtEnd) setFollowing(true);
      // New lines also increase the distance to the end, so stop following only when the user scrolls up.
      else if (top < lastTop.current) stopFollowing();
      lastTop.current = top;
    },
    topLine() {
      const top = scroller.current?.scrollTop ?? 0;
      return from + (virtual.getVirtualItemForOffset(top)?.index ?? 0);
    },
  };
}
