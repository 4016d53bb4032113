import { useEffect, useMemo, useRef } from 'react';
import UPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import type { AlignedLines } from './aligned.ts';
import type { Line, AxisRange } from './lines.ts';
import { dataOf, optionsOf, type PlotEvents, plotHeight, type PlotShape } from './plot-options.ts';

/** A label at a position of the axis. */
export interface Mark {
  readonly x: number;
  readonly text: string;
}

interface PlotProps {
  /** Text that describes the plot to screen readers. */
  readonly label: string;
  readonly lines: readonly Line[];
  readonly data: AlignedLines;
  /** Must be the same object between renders; a new object creates a new plot. */
  readonly shape: PlotShape;
  readonly range: AxisRange;
  readonly marks: readonly Mark[];
  readonly width: number;
  readonly onZoom: (range: AxisRange) => void;
  readonly onPoint: (x: number | null) => void;
}

/** Draws lines with uPlot. New points update the existing plot; a new `shape` or other lines create a new plot. */
export function Plot({ label, lines, data, shape, range, marks, width, onZoom, onPoint }: PlotProps) {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<UPlot | null>(null);
  const table = useMemo(() => dataOf(data), [data]);
  const now = useRef({ lines, range, marks, width, table, onZoom, onPoint });
  now.current = { lines, range, marks, width, table, onZoom, onPoint };
  const styleKey = lines.map(({ id, style }) => `${id}:${style}`).join(' ');
  useEffect(() => {
    if (host.current === null) return undefined;
    const events: PlotEvents = {
      range: () => now.current.range,
      onZoom: chosen => now.current.onZoom(chosen),
      onPoint: x => now.current.onPoint(x),
      headroom: () => Math.max(minHeadroom, rowsOf(now.current.marks) * rowHeight),
      onDraw: drawn => placeMarks(drawn, now.current.marks),
    };
    const options = optionsOf(now.current.lines, now.current.width, shape, events);
    const chart = new UPlot(options, now.current.table, host.current);
    plot.current = chart;
    return () => {
      plot.current = null;
      chart.destroy();
    };
  }, [shape, styleKey]);
  useEffect(() => plot.current?.setData(table), [table, range, marks]);
  useEffect(() => plot.current?.setSize({ width, height: plotHeight }), [width]);
  return <div ref={host} className="curve-plot" role="img" aria-label={label} />;
}

/** Height of a row of labels, and minimum space above the curves, in pixels. */
const rowHeight = 16;
const minHeadroom = 8;
/** Maximum number of rows of labels. Further labels start again at the first row. */
const maxRows = 3;
/** Returns the number of rows of labels. Labels are stacked, because a label can be wider than its attempt. */
const rowsOf = (marks: readonly Mark[]): number => Math.min(maxRows, marks.length);

/** Draws each mark as HTML, so that it uses the colours and the font of the page. */
function placeMarks(plot: UPlot, marks: readonly Mark[]): void {
  for (const old of plot.over.querySelectorAll('.curve-mark')) old.remove();
  const { clientWidth } = plot.over;
  marks.forEach(({ x, text }, row) => {
    const left = plot.valToPos(x, 'x');
    if (left < 0 || left > clientWidth) return;
    const mark = document.createElement('div');
    mark.className = left > clientWidth / 2 ? 'curve-mark curve-mark-end' : 'curve-mark';
    mark.style.left = `${left}px`;
    const word = document.createElement('span');
    word.textContent = text;
    word.style.top = `${((row % maxRows) - rowsOf(marks)) * rowHeight}px`;
    word.style.maxWidth = `${Math.max(left, clientWidth - left)}px`;
    mark.append(word);
    plot.over.append(mark);
  });
}
