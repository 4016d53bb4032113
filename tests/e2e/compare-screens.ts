/**
 * The second half of `npm run check:screens`. The first half takes the screenshots for the documentation into `dist/screens`.
 * This program lists the screenshots that differ from the committed ones. A difference does not fail the check, because only
 * people can tell whether the new picture is right.
 *
 * A picture is divided into cells of 16 x 16 pixels. Two cells differ if the mean of a colour channel differs by more than 16 of
 * 255. Measured: two runs on one machine differ in up to 0.3 % of the cells, because of times such as "9 sec. ago". Other fonts
 * change up to 4.6 %. Moving the content below the header by 40 pixels changes at least 7.5 %. The comparison therefore finds a
 * changed layout, but not a changed word.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { chromium as browsers, type Page } from '@playwright/test';
import { chromium } from '../../playwright.config.ts';

/** A picture is stale if a larger share of its cells differs. */
const maxShare = 0.06;
const committedFolder = 'docs/screens';
const newFolder = 'dist/screens';

/** The members of ImageData that `compare` uses in the browser. */
interface Pixels {
  readonly width: number;
  readonly height: number;
  /** Red, green, blue and alpha of each pixel. */
  readonly data: Uint8ClampedArray;
}
type Bitmap = Pick<Pixels, 'width' | 'height'>;
interface Context {
  drawImage(image: Bitmap, x: number, y: number): void;
  getImageData(x: number, y: number, width: number, height: number): Pixels;
}
declare const createImageBitmap: (blob: Blob) => Promise<Bitmap>;
declare const OffscreenCanvas: new (width: number, height: number) => { getContext(kind: '2d'): Context };

/** Returns the share of cells that differ; null if the pictures have different sizes. */
function compare(page: Page, name: string): Promise<number | null> {
  const toUrl = (folder: string): string =>
    `data:image/webp;base64,${readFileSync(join(folder, name), 'base64')}`;
  return page.evaluate(
    async urls => {
      const cellSize = 16;
      const maxDifference = 16;
      const load = async (url: string): Promise<Pixels> => {
        const image = await createImageBitmap(await (await fetch(url)).blob());
        const context = new OffscreenCanvas(image.width, image.height).getContext('2d');
        context.drawImage(image, 0, 0);
        return context.getImageData(0, 0, image.width, image.height);
      };
      const [before, after] = await Promise.all([load(urls[0]), load(urls[1])]);
      const { width, height } = before;
      if (after.width !== width || after.height !== height) return null;
      const columns = Math.ceil(width / cellSize);
      const rows = Math.ceil(height / cellSize);
      /** Four numbers for each cell: the sums of the red, green and blue differences, and the number of pixels. */
      const sums = new Float64Array(columns * rows * 4);
      const add = (index: number, value: number): void => {
        sums[index] = (sums[index] ?? 0) + value;
      };
      for (let y = 0; y < height; y += 1)
        for (let x = 0; x < width; x += 1) {
          const cell = (Math.floor(y / cellSize) * columns + Math.floor(x / cellSize)) * 4;
          for (const channel of [0, 1, 2]) {
            const index = (y * width + x) * 4 + channel;
            add(cell + channel, (before.data[index] ?? 0) - (after.data[index] ?? 0));
          }
          add(cell + 3, 1);
        }
      let differentCells = 0;
      for (let cell = 0; cell < sums.length; cell += 4) {
        const [red = 0, green = 0, blue = 0, pixels = 1] = sums.subarray(cell, cell + 4);
        const largestSum = Math.max(Math.abs(red), Math.abs(green), Math.abs(blue));
        if (largestSum / pixels > maxDifference) differentCells += 1;
      }
      return differentCells / (columns * rows);
    },
    [toUrl(committedFolder), toUrl(newFolder)] as const,
  );
}

if (chromium !== null) {
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  const browser = await browsers.launch({ executablePath: chromium, args });
  const page = await browser.newPage();
  const names = readdirSync(newFolder);
  let stale = 0;
  for (const name of names) {
    const share = await compare(page, name);
    const isStale = share === null || share > maxShare;
    if (isStale) stale += 1;
    const difference = share === null ? 'another size' : `${(share * 100).toFixed(1)} % of it differs`;
    console.log(`${isStale ? 'stale' : 'ok   '}  ${committedFolder}/${name}: ${difference}`);
  }
  await browser.close();
  console.log(
    stale === 0
      ? `${names.length} pictures are up to date`
      : `Stale pictures: ${stale} of ${names.length}. Look at the new ones in ${newFolder}, then copy them to ${committedFolder}`,
  );
}
