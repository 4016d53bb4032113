import type { LabelledImages } from './dataset.ts';
import type { Network } from './network.ts';
import type { Picture } from './png.ts';

const COLUMNS = 10;
const MAX_IMAGES = 100;
/** In pixels. */
const MARGIN = 4;
/** Size of a dot in pixels. A guessed digit is drawn with three by five dots. */
const DOT = 2;
/** In dots. */
const GLYPH_HEIGHT = 5;
/** Height of the space for a guess below its image, in pixels. */
const CAPTION = GLYPH_HEIGHT * DOT + 2;

type Colour = readonly [red: number, green: number, blue: number];
const BACKGROUND: Colour = [24, 24, 27];
const RIGHT = { tile: [0, 0, 0], guess: [74, 222, 128] } as const satisfies Record<string, Colour>;
const WRONG = { tile: [127, 29, 29], guess: [248, 113, 113] } as const satisfies Record<string, Colour>;

/** The digits 0 to 9, each as five rows of three dots. */
const GLYPHS = [
  '111101101101111',
  '010110010010111',
  '111001111100111',
  '111001111001111',
  '101101111001001',
  '111100111001111',
  '111100111101111',
  '111001001001001',
  '111101111101111',
  '111101111001111',
];

/**
 * Draws the first test images, ten per row, and the network's guess below each image. Right guesses are green. Wrong guesses are
 * red, and their images have a red background. The images are always the same, so that users can compare samples.
 */
export function drawSample({ images, labels }: LabelledImages, classify: Network['classify']): Picture {
  const count = Math.min(MAX_IMAGES, images.count);
  const side = Math.ceil(Math.sqrt(images.width));
  const columns = Math.min(COLUMNS, count);
  const canvas = createCanvas(
    MARGIN + columns * (side + MARGIN),
    MARGIN + Math.ceil(count / COLUMNS) * (side + CAPTION + MARGIN),
  );
  for (let image = 0; image < count; image++) {
    const left = MARGIN + (image % COLUMNS) * (side + MARGIN);
    const top = MARGIN + Math.floor(image / COLUMNS) * (side + CAPTION + MARGIN);
    const guess = classify(images, image);
    const { tile, guess: glyphColour } = guess === labels[image] ? RIGHT : WRONG;
    canvas.fill(left, top, side, side, tile);
    for (let k = images.starts[image] ?? 0; k < (images.starts[image + 1] ?? 0); k++) {
      const [column = 0, value = 0] = [images.columns[k], images.values[k]];
      canvas.fill(left + (column % side), top + Math.floor(column / side), 1, 1, lighten(tile, value));
    }
    const glyph = GLYPHS[guess] ?? '';
    for (let dot = 0; dot < glyph.length; dot++) {
      const [x, y] = [left + (dot % 3) * DOT, top + side + 2 + Math.floor(dot / 3) * DOT];
      if (glyph[dot] === '1') canvas.fill(x, y, DOT, DOT, glyphColour);
    }
  }
  return canvas.picture;
}

/** Blends a colour with white. `share`: 0 for the colour, 1 for white. */
const lighten = ([red, green, blue]: Colour, share: number): Colour => [
  red + (255 - red) * share,
  green + (255 - green) * share,
  blue + (255 - blue) * share,
];

function createCanvas(width: number, height: number) {
  const pixels = new Uint8Array(3 * width * height);
  const fill = (left: number, top: number, columns: number, rows: number, colour: Colour): void => {
    for (let y = top; y < top + rows; y++) {
      for (let x = left; x < left + columns; x++) pixels.set(colour, 3 * (y * width + x));
    }
  };
  fill(0, 0, width, height, BACKGROUND);
  return { picture: { width, height, pixels }, fill };
}
