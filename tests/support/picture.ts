import { encodePng } from '../../examples/digits/png.ts';

type Colour = readonly [red: number, green: number, blue: number];

/** Creates a PNG. `colourAt` returns the colour of a pixel. */
export function pngOf(
  width: number,
  height: number,
  colourAt: (x: number, y: number) => Colour,
): Uint8Array<ArrayBuffer> {
  const pixels = range(height).flatMap(y => range(width).flatMap(x => colourAt(x, y)));
  return new Uint8Array(encodePng({ width, height, pixels: Uint8Array.from(pixels) }));
}

const range = (count: number): readonly number[] => [...Array(count).keys()];
