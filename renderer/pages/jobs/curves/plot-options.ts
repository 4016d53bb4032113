import type uPlot from 'uplot';
import type { Translator } from '../../../i18n/index.ts';
import type { AlignedLines } from './aligned.ts';
import type { Axis, Line, AxisRange } from './lines.ts';
import { colourOf, dashOf, type Palette } from './palette.ts';
import { tickText } from './texts.ts';

/** Settings of a plot; a change recreates the plot. */
export interface PlotShape {
  readonly axis: Axis;
  readonly isLog: boolean;
  readonly palette: Palette;
  readonly t: Translator;
  readonly valueText: (value: number) => string;
}

export interface PlotEvents {
  /** The visible range of the axis. */
  readonly range: () => AxisRange;
  readonly onZoom: (range: AxisRange) => void;
  /** Position of the pointer over this or another chart; null when it leaves. */
  readonly onPoint: (x: number | null) => void;
  /** Free pixels above the curves. */
  readonly headroom: () => number;
  readonly onDraw: (plot: uPlot) => void;
}

export const plotHeight = 200;
const font = '12px system-ui, sans-serif';
/** The library's name for this is a const enum, which exists only at compile time. */
const logarithmic: object = { distr: 3 };
/** Tick distances: whole steps, and usual time spans. */
const increments = {
  step: Array.from({ length: 13 }, (_, power) => [1, 2, 5].map(digit => digit * 10 ** power)).flat(),
  time: [
    1, 2, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 21_600, 43_200, 86_400, 172_800, 604_800,
  ].map(seconds => seconds * 1_000),
};

/** Four series per line, always in this order: the two edges of its band, the raw values, and the drawn values. */
export function dataOf({ xs, columns }: AlignedLines): uPlot.AlignedData {
  const none = xs.map(() => undefined);
  return [
    [...xs],
    ...columns.flatMap(({ low, high, raw, value }) =>
      [low, high, raw, value].map(cells => [...(cells ?? none)]),
    ),
  ];
}
const perLine = 4;

export function optionsOf(
  lines: readonly Line[],
  width: number,
  { axis, isLog, palette, t, valueText }: PlotShape,
  { range, onZoom, onPoint, headroom, onDraw }: PlotEvents,
): uPlot.Options {
  const grid = { stroke: palette.grid, width: 1 };
  const look = { stroke: palette.muted, font, grid, ticks: { ...grid, size: 4 } };
  const toTheText = (values: readonly (number | null)[], text: (value: number) => string): string[] =>
    values.map(value => (value === null ? '' : text(value)));
  return {
    width,
    height: plotHeight,
    legend: { show: false },
    padding: [headroom, null, null, null],
    series: [{}, ...lines.flatMap(({ style }) => seriesOf(colourOf(palette, style), dashOf(style)))],
    bands: lines.map(({ style }, at) => ({
      series: [at * perLine + 2, at * perLine + 1],
      fill: withAlpha(colourOf(palette, style), 0.18),
    })),
    scales: {
      x: { time: false, range: () => [...range()] },
      y: isLog ? logarithmic : {},
    },
    axes: [
      {
        ...look,
        incrs: increments[axis],
        size: 30,
        space: axis === 'time' ? 80 : 60,
        values: (_plot, splits) => toTheText(splits, x => tickText(x, axis, t)),
      },
      { ...look, size: 64, values: (_plot, splits) => toTheText(splits, valueText) },
    ],
    cursor: {
      y: false,
      points: { show: false },
      drag: { x: true, y: false, setScale: false, dist: 5 },
      // All charts show the pointer; a drag selects a range in one chart only.
      sync: { key: 'curves', setSeries: false, filters: { pub: isOfPointer } },
    },
    hooks: {
      setSelect: [
        plot => {
          const { left, width: chosen } = plot.select;
          if (chosen === 0) return;
          const [from, to] = [plot.posToVal(left, 'x'), plot.posToVal(left + chosen, 'x')];
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          onZoom([from, to]);
        },
      ],
      setCursor: [
        plot => {
          const { left } = plot.cursor;
          onPoint(left === undefined || left < 0 ? null : plot.posToVal(left, 'x'));
        },
      ],
      draw: [onDraw],
    },
  };
}

const isOfPointer = (type: string): boolean => type === 'mousemove' || type === 'mouseleave';

function seriesOf(colour: string, dash: number[]): uPlot.Series[] {
  const edge = { stroke: 'transparent', width: 0, points: { show: false } };
  const raw = { stroke: withAlpha(colour, 0.3), width: 1, points: { show: false } };
  return [edge, edge, raw, { stroke: colour, width: 2, dash, points: { size: 5, fill: colour } }];
}

/** Takes a colour as browsers serialize it: `rgb(1, 2, 3)`. */
function withAlpha(colour: string, alpha: number): string {
  const [red, green, blue] = colour.match(/[\d.]+/g) ?? [];
  return `rgb(${red ?? 0} ${green ?? 0} ${blue ?? 0} / ${alpha})`;
}
