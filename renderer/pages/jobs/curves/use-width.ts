import { useEffect, useRef, useState } from 'react';

/** Padding of a chart in its card, gap between cards, and minimum width for two columns. Keep in sync with the stylesheet. */
const padding = 34;
const gap = 16;
const minForTwo = 900;

/** Width of a chart in pixels; 0 until measured. */
export function useWidth() {
  const grid = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const element = grid.current;
    if (element === null) return undefined;
    const measure = (): void => {
      const all = element.clientWidth;
      setWidth(Math.max(160, Math.floor(all >= minForTwo ? (all - gap) / 2 : all) - padding));
    };
    const watch = new ResizeObserver(measure);
    watch.observe(element);
    measure();
    return () => watch.disconnect();
  }, []);
  return { grid, width };
}
