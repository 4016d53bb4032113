import { splitName } from '../../ui/short-name.tsx';
import type { Bar, BarState } from './bars.ts';
import { barHeight, type Layout, type PlacedBar, type Row, rowsWithin } from './layout.ts';
import { type Scale, type Tick, timeToX } from './scale.ts';

/** Height of the axis above the rows, in pixels. */
export const axisHeight = 28;
/** Minimum width of a bar in pixels, so that short attempts stay visible. */
const minWidth = 3;
/** Minimum width of a bar with text, in pixels. */
const minTextWidth = 34;
/** Space at each side of the text in a bar, in pixels. */
const textPadding = 5;

export type Colour = 'good' | 'busy' | 'bad' | 'warn' | 'muted';

/** The colours of the theme, as values that a canvas accepts. */
export interface Paint extends Readonly<Record<Colour, string>> {
  readonly line: string;
  readonly text: string;
  readonly surface: string;
  readonly onColour: string;
  readonly accent: string;
  readonly font: string;
  /** Returns the width of a letter in this font, in pixels. */
  readonly widthOf: (context: CanvasRenderingContext2D, letter: string) => number;
}

/** The colour of each state, as everywhere in the panel, and a sign that identifies the state without colour. */
export const looks: Readonly<Record<BarState, { readonly colour: Colour; readonly sign: string }>> = {
  completed: { colour: 'good', sign: '✓' },
  running: { colour: 'busy', sign: '▸' },
  starting: { colour: 'busy', sign: '▸' },
  dispatched: { colour: 'busy', sign: '▸' },
  failed: { colour: 'bad', sign: '✕' },
  requeued: { colour: 'warn', sign: '↻' },
  given_up: { colour: 'warn', sign: '?' },
  recovering: { colour: 'warn', sign: '?' },
  cancelling: { colour: 'warn', sign: '–' },
  blocked: { colour: 'warn', sign: '…' },
  cancelled: { colour: 'muted', sign: '–' },
  withdrawn: { colour: 'muted', sign: '–' },
  pending: { colour: 'muted', sign: '…' },
  predicted: { colour: 'muted', sign: '▷' },
};

export interface Picture {
  readonly layout: Layout;
  readonly scale: Scale;
  readonly ticks: readonly Tick[];
  readonly tickText: (tick: Tick) => string;
  readonly now: number;
  /** The visible part of the rows, in pixels. */
  readonly scrollTop: number;
  readonly height: number;
  /** Key of the bar under the pointer; null for none. */
  readonly hovered: string | null;
}

/** Draws the visible part of a timeline: grid, bars, moves, axis, and the line that marks the current time. */
export function drawTimeline(context: CanvasRenderingContext2D, picture: Picture, paint: Paint): void {
  const { layout, scale, scrollTop, height } = picture;
  context.clearRect(0, 0, scale.width, height);
  context.font = paint.font;
  context.textBaseline = 'middle';
  const rows = rowsWithin(layout.rows, scrollTop, scrollTop + height - axisHeight);
  context.save();
  context.translate(0, axisHeight - scrollTop);
  drawGrid(context, picture, rows, paint);
  for (const row of rows) for (const bar of row.bars) drawBar(context, picture, bar, paint);
  drawMoves(context, picture, paint);
  context.restore();
  drawAxis(context, picture, paint);
}

function drawGrid(
  context: CanvasRenderingContext2D,
  { scale, ticks, scrollTop, height }: Picture,
  rows: readonly Row[],
  paint: Paint,
): void {
  context.fillStyle = paint.line;
  for (const { at, kind } of ticks) {
    context.globalAlpha = kind === 'day' ? 1 : 0.5;
    context.fillRect(Math.round(timeToX(scale, at)), scrollTop, 1, height);
  }
  context.globalAlpha = 1;
  for (const row of rows) context.fillRect(0, row.top + row.height - 1, scale.width, 1);
}

function drawBar(
  context: CanvasRenderingContext2D,
  { scale, now, hovered }: Picture,
  { bar, end, top, freeUntil }: PlacedBar,
  paint: Paint,
): void {
  if (end < scale.from || bar.from > scale.to) return;
  const x = timeToX(scale, bar.from);
  const right = Math.max(timeToX(scale, end), x + minWidth);
  const { colour } = looks[bar.state];
  context.fillStyle = paint[colour];
  context.strokeStyle = paint[colour];
  const isPredicted = bar.state === 'predicted';
  // A live attempt is solid until now, and an outline from now until its predicted end.
  const solidTo = bar.to === null && !isPredicted ? Math.max(x + minWidth, timeToX(scale, now)) : right;
  if (isPredicted || solidTo < right) outline(context, isPredicted ? x : solidTo, right, top);
  if (!isPredicted) {
    // The time before the training started is paler.
    const startX = bar.startedAt === null ? solidTo : Math.min(solidTo, timeToX(scale, bar.startedAt));
    context.globalAlpha = 0.5;
    context.fillRect(x, top, startX - x, barHeight);
    context.globalAlpha = 1;
    context.fillRect(startX, top, Math.max(solidTo - startX, startX > x ? 0 : minWidth), barHeight);
  }
  if (hovered === bar.key) {
    context.lineWidth = 2;
    context.strokeStyle = paint.text;
    context.strokeRect(x, top, right - x, barHeight);
  }
  const solid = { left: x, right: solidTo, colour: bar.startedAt === null ? paint.text : paint.onColour };
  const spans: readonly TextSpan[] = [
    ...(isPredicted ? [] : [solid]),
    { left: isPredicted ? x : solidTo, right, colour: paint.text },
    { left: right, right: timeToX(scale, Math.min(freeUntil, scale.to)), colour: paint.text },
  ];
  drawText(context, bar, spans, top, paint);
}

function outline(context: CanvasRenderingContext2D, x: number, right: number, top: number): void {
  context.globalAlpha = 0.14;
  context.fillRect(x, top, right - x, barHeight);
  context.globalAlpha = 1;
  context.lineWidth = 1;
  context.setLineDash([4, 3]);
  context.strokeRect(x + 0.5, top + 0.5, right - x - 1, barHeight - 1);
  context.setLineDash([]);
}

/** A space for the name of a bar, in pixels: the solid part of the bar, its outline, or the free space after the bar. */
interface TextSpan {
  readonly left: number;
  readonly right: number;
  readonly colour: string;
}

/** Draws the sign and the name of a bar in the first span where both fit. Otherwise, shortens the name in the widest span. */
function drawText(
  context: CanvasRenderingContext2D,
  { state, name }: Bar,
  spans: readonly TextSpan[],
  top: number,
  { widthOf }: Paint,
): void {
  const width = (letter: string): number => widthOf(context, letter);
  const { sign } = looks[state];
  let best = { text: '', room: minTextWidth - 2 * textPadding, left: 0, colour: '' };
  for (const span of spans) {
    // Start at the edge of the chart if the bar starts before the visible range, so that the text stays visible.
    const left = Math.max(0, span.left) + textPadding;
    const room = Math.min(span.right, context.canvas.clientWidth) - left - textPadding;
    if (room < best.room) continue;
    const text = fittedText(sign, name, room, width);
    best = { text, room, left, colour: span.colour };
    if (text.endsWith(name)) break;
  }
  if (best.text === '') return;
  context.fillStyle = best.colour;
  context.fillText(best.text, best.left, top + barHeight / 2 + 0.5);
}

/** Minimum number of letters of a shortened name. */
const minLetters = 3;

/**
 * Returns the sign and as much of the name as fits into `room` pixels, or only the sign if too little fits. If possible, a
 * shortened name keeps its end, because similar names differ there.
 * @internal
 */
export function fittedText(
  sign: string,
  name: string,
  room: number,
  widthOf: (letter: string) => number,
): string {
  const textWidth = (text: string): number =>
    Array.from(text).reduce((sum, letter) => sum + widthOf(letter), 0);
  const start = `${sign} `;
  const left = room - textWidth(start);
  if (textWidth(name) <= left) return start + name;
  const { head, tail } = splitName(name);
  const fitsBoth = textWidth(`${Array.from(head).slice(0, minLetters).join('')}…${tail}`) <= left;
  const end = fitsBoth ? `…${tail}` : '…';
  let leftForHead = left - textWidth(end);
  const letters: string[] = [];
  for (const letter of fitsBoth ? head : name) {
    leftForHead -= widthOf(letter);
    if (leftForHead < 0) break;
    letters.push(letter);
  }
  return letters.length < minLetters ? sign : `${start}${letters.join('')}${end}`;
}

/** Draws a line from the end of each attempt to the start of the job's next attempt. */
function drawMoves(context: CanvasRenderingContext2D, { layout, scale }: Picture, paint: Paint): void {
  context.strokeStyle = paint.text;
  context.lineWidth = 1.5;
  context.globalAlpha = 0.7;
  for (const { from, to } of layout.moves) {
    const [x1, x2] = [timeToX(scale, from.end), timeToX(scale, to.bar.from)];
    if (Math.max(x1, x2) < 0 || Math.min(x1, x2) > scale.width || from.row === to.row) continue;
    const isDown = to.row > from.row;
    const [y1, y2] = [from.top + (isDown ? barHeight : 0), to.top + (isDown ? 0 : barHeight)];
    const tip = isDown ? -5 : 5;
    context.beginPath();
    context.moveTo(x1, y1);
    context.bezierCurveTo(x1, (y1 + y2) / 2, x2, (y1 + y2) / 2, x2, y2);
    context.moveTo(x2 - 4, y2 + tip);
    context.lineTo(x2, y2);
    context.lineTo(x2 + 4, y2 + tip);
    context.stroke();
  }
  context.globalAlpha = 1;
}

function drawAxis(
  context: CanvasRenderingContext2D,
  { scale, ticks, tickText, now, height }: Picture,
  paint: Paint,
): void {
  context.fillStyle = paint.surface;
  context.fillRect(0, 0, scale.width, axisHeight);
  context.fillStyle = paint.line;
  context.fillRect(0, axisHeight - 1, scale.width, 1);
  for (const tick of ticks) {
    const x = timeToX(scale, tick.at);
    const text = tickText(tick);
    // Skip a text that the edge would cut.
    if (x + 4 + context.measureText(text).width > scale.width) continue;
    context.fillStyle = tick.kind === 'day' ? paint.text : paint.muted;
    context.fillText(text, x + 4, axisHeight / 2);
  }
  const x = Math.round(timeToX(scale, now));
  if (x < 0 || x > scale.width) return;
  context.fillStyle = paint.accent;
  context.fillRect(x - 1, axisHeight - 6, 2, height);
  context.beginPath();
  context.arc(x, axisHeight - 6, 4, 0, 2 * Math.PI);
  context.fill();
}
