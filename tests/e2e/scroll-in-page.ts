/** Scrolls a page from within. */
import type { Page } from '@playwright/test';

/** The part of the browser's API that this function uses. */
declare const document: {
  readonly documentElement: { readonly scrollHeight: number };
  querySelectorAll(selector: string): { readonly length: number };
};
declare const innerHeight: number;
declare const requestAnimationFrame: (then: (at: number) => void) => number;
declare const scrollTo: (x: number, y: number) => void;

interface Scrolling {
  readonly framesPerSecond: number;
  /** The largest number of elements that match the selector in one frame. */
  readonly peakTiles: number;
  /** Height of the page in pixels. */
  readonly height: number;
}

/** Scrolls from top to bottom in 240 frames. */
export const measureScrolling = (page: Page, selector: string): Promise<Scrolling> =>
  page.evaluate(async tiles => {
    const frames = 240;
    const height = document.documentElement.scrollHeight;
    const times: number[] = [];
    let peakTiles = 0;
    for (let n = 0; n <= frames; n++) {
      scrollTo(0, ((height - innerHeight) * n) / frames);
      times.push(await new Promise<number>(resolve => requestAnimationFrame(resolve)));
      peakTiles = Math.max(peakTiles, document.querySelectorAll(tiles).length);
    }
    const seconds = ((times.at(-1) ?? 0) - (times[0] ?? 0)) / 1_000;
    return { framesPerSecond: frames / seconds, peakTiles, height };
  }, selector);
