import { useCallback, useLayoutEffect, useRef, useState } from 'react';

/** Minimum width of the chart for names next to their rows, and width of the column of names, in pixels. */
const wideFrom = 640;
const besideWidth = 168;
/** Maximum height of the chart in pixels. Further rows scroll. */
export const maxHeight = 640;

export type Host = ReturnType<typeof useHost>;

/** Measures and scrolls the element that contains the rows. */
export function useHost() {
  const ref = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  const [scrollTop, setScrollTop] = useState(0);
  const focused = useRef<string | null>(null);
  useLayoutEffect(() => {
    const element = ref.current;
    if (element === null) return undefined;
    const measure = (): void => setWidth(element.clientWidth);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return {
    ref,
    width,
    /** Width of the column of names in pixels; 0 if the names are above their rows. */
    nameWidth: width >= wideFrom ? besideWidth : 0,
    scrollTop,
    onScroll: useCallback(() => setScrollTop(ref.current?.scrollTop ?? 0), []),
    /** Scrolls until the part of the rows from `top` to `bottom` is visible. */
    reveal: useCallback((top: number, bottom: number) => {
      const element = ref.current;
      if (element === null) return;
      if (top < element.scrollTop) element.scrollTop = top;
      else if (bottom > element.scrollTop + element.clientHeight)
        element.scrollTop = bottom - element.clientHeight;
    }, []),
    /** Focuses the link of a selected bar, but only once per selection. */
    focusOnce: useCallback((element: HTMLElement | null, key: string) => {
      if (element === null || focused.current === key) return;
      focused.current = key;
      element.focus({ preventScroll: true });
    }, []),
  };
}
