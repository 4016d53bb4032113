import { useEffect, useRef, useState } from 'react';

/** In pixels: padding of a chart in its card, gap between cards, and minimum width for two columns. Same as in `curves.css`. */
const padding = 34;
const gap = 16;
const minForTwo = 900;

/** Measures the width of a chart in pixels. Returns a width of 0 until the first measurement. */
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
