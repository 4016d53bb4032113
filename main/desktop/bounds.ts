/** In the pixels of the desktop, which do not depend on the scale of a display. */
export interface Rectangle {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export const smallest = { width: 480, height: 360 };
const usual = { width: 1_280, height: 840 };
/** So much of it has to be seen, or nobody can take hold of it. */
const handleWidth = 120;
const handleHeight = 24;

/**
 * Where a window goes that was at `kept` when it was last seen. A display may have been taken away since, or have another size:
 * then it goes to the middle of the first one. `displays` are their work areas, the primary one first.
 */
export function placeWindow(kept: Rectangle | null, displays: readonly Rectangle[]): Rectangle {
  const [primary = { x: 0, y: 0, ...usual }] = displays;
  if (kept === null) return inMiddle(usual, primary);
  const display = displays.find(each => isReachable(kept, each));
  return display === undefined ? inMiddle(kept, primary) : within(kept, display);
}

/** By the upper edge, where its title is. */
function isReachable(window: Rectangle, display: Rectangle): boolean {
  const left = Math.max(window.x, display.x);
  const right = Math.min(window.x + window.width, display.x + display.width);
  const isBelowTop = window.y >= display.y && window.y + handleHeight <= display.y + display.height;
  return isBelowTop && right - left >= handleWidth;
}

type Size = Pick<Rectangle, 'width' | 'height'>;

function sizeIn(size: Size, display: Rectangle): Size {
  const clamp = (wanted: number, least: number, most: number): number =>
    Math.min(Math.max(Math.round(wanted), least), Math.max(most, least));
  return {
    width: clamp(size.width, smallest.width, display.width),
    height: clamp(size.height, smallest.height, display.height),
  };
}

const within = (window: Rectangle, display: Rectangle): Rectangle => ({
  x: Math.round(window.x),
  y: Math.round(window.y),
  ...sizeIn(window, display),
});

function inMiddle(wanted: Size, display: Rectangle): Rectangle {
  const size = sizeIn(wanted, display);
  return {
    ...size,
    x: Math.round(display.x + (display.width - size.width) / 2),
    y: Math.round(display.y + (display.height - size.height) / 2),
  };
}
