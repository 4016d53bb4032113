import { type RefObject, useEffect, useRef } from 'react';

/** A drag scrolls the table within this distance from its upper or lower edge, in pixels. */
const edge = 40;
/** Scroll speeds in pixels per millisecond: at the edge of the table, and the maximum outside the table. */
const speed = 1;
const maxSpeed = 4;
/** Maximum time that one frame counts, so that a slow frame does not scroll too far. */
const maxFrameMs = 50;

interface EdgeScroll {
  readonly isOn: boolean;
  readonly box: RefObject<HTMLElement | null>;
  /** The vertical position of the pointer in the window, in pixels. */
  readonly pointer: RefObject<number>;
  readonly onScroll: () => void;
}

/** Scrolls the table while a drag is near the upper or lower edge of the table. Scrolls faster beyond the edge. */
export function useEdgeScroll({ isOn, box, pointer, onScroll }: EdgeScroll): void {
  const scrolled = useRef(onScroll);
  scrolled.current = onScroll;
  useEffect(() => {
    if (!isOn) return undefined;
    let last = performance.now();
    const scroll = (now: number): void => {
      const ms = Math.min(maxFrameMs, now - last);
      last = now;
      const scroller = box.current?.querySelector('.table-scroll');
      if (scroller !== null && scroller !== undefined) {
        const { top, bottom } = scroller.getBoundingClientRect();
        const before = scroller.scrollTop;
        scroller.scrollTop += speedAt(pointer.current, top, bottom) * ms;
        if (scroller.scrollTop !== before) scrolled.current();
      }
      frame = requestAnimationFrame(scroll);
    };
    let frame = requestAnimationFrame(scroll);
    return () => cancelAnimationFrame(frame);
  }, [isOn, box, pointer]);
}

/** Returns the scroll speed in pixels per millisecond: negative is up, and 0 is away from the edges. @internal */
export function speedAt(y: number, top: number, bottom: number): number {
  const above = top + edge - y;
  const below = y - (bottom - edge);
  const depth = Math.max(above, below);
  if (depth <= 0) return 0;
  return Math.min(maxSpeed, (depth / edge) * speed) * (above > below ? -1 : 1);
}
