/**
 * `npm run check:screens` has just taken the pictures of the documents into `dist/screens`. Lists those that differ from the
 * committed ones. A difference is no failure: only people can tell whether the new picture is right.
 *
 * A picture is divided into cells of 16 x 16 pixels. Two cells differ if the mean of a colour channel differs by more than
 * 16 of 255. Measured: two runs on one machine differ in up to 0.3 % of the cells (times such as "9 sec. ago"), machines with
 * other fonts in up to 4.6 %, and pictures whose content below the header moved by 40 pixels in at least 7.5 %. So it finds
 * changes of the layout. It doesn't find a changed word.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { chromium as browsers, type Page } from '@playwright/test';
import { chromium } from '../../playwright.config.ts';

const tolerance = 0.06;
const committed = 'docs/screens';
const taken = 'dist/screens';

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
      const cell = 16;
      const load = async (url: string): Promise<Pixels> => {
        const image = await createImageBitmap(await (await fetch(url)).blob());
        const context = new OffscreenCanvas(image.width, image.height).getContext('2d');
        context.drawImage(image, 0, 0);
        return context.getImageData(0, 0, image.width, image.height);
      };
      const [a, b] = await Promise.all([load(urls[0]), load(urls[1])]);
      if (a.width !== b.width || a.height !== b.height) return null;
      const columns = Math.ceil(a.width / cell);
      const rows = Math.ceil(a.height / cell);
      /** For each cell: the sum of red, green and blue differences, and the number of pixels. */
      const sums = new Float64Array(columns * rows * 4);
      const add = (at: number, value: number): void => void (sums[at] = (sums[at] ?? 0) + value);
      for (let pixel = 0; pixel < a.width * a.height; pixel += 1) {
        const column = Math.floor((pixel % a.width) / cell);
        const at = (Math.floor(pixel / a.width / cell) * columns + column) * 4;
        for (const channel of [0, 1, 2]) {
          const index = pixel * 4 + channel;
          add(at + channel, (a.data[index] ?? 0) - (b.data[index] ?? 0));
        }
        add(at + 3, 1);
      }
      let different = 0;
      for (let at = 0; at < sums.length; at += 4) {
        const [red = 0, green = 0, blue = 0, pixels = 1] = sums.subarray(at, at + 4);
        if (Math.max(Math.abs(red), Math.abs(green), Math.abs(blue)) / pixels > 16) different += 1;
      }
      return different / (columns * rows);
    },
    [toUrl(committed), toUrl(taken)] as const,
  );
}

if (chromium !== null) {
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  const browser = await browsers.launch({ executablePath: chromium, args });
  const page = await browser.newPage();
  const names = readdirSync(taken);
  let stale = 0;
  for (const name of names) {
    const share = await compare(page, name);
    const isStale = share === null || share > tolerance;
    if (isStale) stale += 1;
    const found = share === null ? 'another size' : `${(share * 100).toFixed(1)} % of it differs`;
    console.log(`${isStale ? 'stale' : 'ok   '}  ${committed}/${name}: ${found}`);
  }
  await browser.close();
  console.log(
    stale === 0
      ? `${names.length} pictures are up to date`
      : `Stale pictures: ${stale} of ${names.length}. Look at the new ones in ${taken}, then copy them to ${committed}`,
  );
}
