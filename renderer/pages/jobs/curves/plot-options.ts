import type uPlot from 'uplot';
import type { Translator } from '../../../i18n/index.ts';
import type { AlignedLines } from './aligned.ts';
import type { Axis, Line, AxisRange } from './lines.ts';
import { colourOf, dashOf, type Palette } from './palette.ts';
import { tickText } from './texts.ts';

/** The settings that determine how a plot looks. A change creates a new plot. */
export interface PlotShape {
  readonly axis: Axis;
  readonly isLog: boolean;
  readonly palette: Palette;
  readonly t: Translator;
  readonly valueText: (value: number) => string;
}

export interface PlotEvents {
  /** Returns the visible range of the axis. */
  readonly range: () => AxisRange;
  readonly onZoom: (range: AxisRange) => void;
  /** Called with the position of the pointer over any chart; null when the pointer leaves. */
  readonly onPoint: (x: number | null) => void;
  /** Returns the space to leave above the curves, in pixels. */
  readonly headroom: () => number;
  readonly onDraw: (plot: uPlot) => void;
}

/** In pixels. */
export const plotHeight = 200;
const font = '12px system-ui, sans-serif';
/** Selects a logarithmic scale. uPlot names the value 3 only in a const enum, which does not exist at run time. */
const logarithmic: object = { distr: 3 };
/** Possible distances between ticks: whole steps, and common time spans in milliseconds. */
const increments = {
  step: Array.from({ length: 13 }, (_, power) => [1, 2, 5].map(digit => digit * 10 ** power)).flat(),
  time: [
    1, 2, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 21_600, 43_200, 86_400, 172_800, 604_800,
  ].map(seconds => seconds * 1_000),
};

/**
 * Converts lines to the series of uPlot. Each line has four series in this order: the lower edge of its band, the upper
 * edge, the raw values, and the drawn values.
 */
export function dataOf({ xs, columns }: AlignedLines): uPlot.AlignedData {
  const none = xs.map(() => undefined);
  return [
    [...xs],
    ...columns.flatMap(({ low, high, raw, value }) =>
      [low, high, raw, value].map(cells => [...(cells ?? none)]),
    ),
  ];
}
/** Number of uPlot series per line. */
const perLine = 4;

/** Returns uPlot's options for a plot of these lines. `width` is in pixels. */
export function optionsOf(
  lines: readonly Line[],
  width: number,
  { axis, isLog, palette, t, valueText }: PlotShape,
  { range, onZoom, onPoint, headroom, onDraw }: PlotEvents,
): uPlot.Options {
  const grid = { stroke: palette.grid, width: 1 };
  const look = { stroke: palette.muted, font, grid, ticks: { ...grid, size: 4 } };
  const formatTicks = (values: readonly (number | null)[], text: (value: number) => string): string[] =>
    values.map(value => (value === null ? '' : text(value)));
  return {
    width,
    height: plotHeight,
    legend: { show: false },
    padding: [headroom, null, null, null],
    series: [{}, ...lines.flatMap(({ style }) => seriesOf(colourOf(palette, style), dashOf(style)))],
    // uPlot counts the x axis as series 0. So series 1 and 2 are the edges of the first line's band.
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
        values: (_plot, splits) => formatTicks(splits, x => tickText(x, axis, t)),
      },
      { ...look, size: 64, values: (_plot, splits) => formatTicks(splits, valueText) },
    ],
    cursor: {
      y: false,
      points: { show: false },
      drag: { x: true, y: false, setScale: false, dist: 5 },
      // Show the pointer in all charts, but let a drag select a range only in the chart where it happens.
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

/** Adds transparency to a colour in the form `rgb(1, 2, 3)`, in which browsers return computed colours. */
function withAlpha(colour: string, alpha: number): string {
  const [red, green, blue] = colour.match(/[\d.]+/g) ?? [];
  return `rgb(${red ?? 0} ${green ?? 0} ${blue ?? 0} / ${alpha})`;
}
