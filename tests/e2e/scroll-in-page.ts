/** Scrolls a page from within. */
import type { Page } from '@playwright/test';

/** The part of the browser's API that this function uses. */
declare const document: {
  readonly documentElement: { readonly scrollHeight: number };
  querySelectorAll(selector: string): { readonly length: number };
};
declare const innerHeight: number;
declare const requestAnimationFrame: (callback: (timeMs: number) => void) => number;
declare const scrollTo: (x: number, y: number) => void;

interface ScrollingResult {
  readonly framesPerSecond: number;
  /** The largest number of elements that match the selector in one frame. */
  readonly peakTiles: number;
  /** Height of the page in pixels. */
  readonly height: number;
}

/** Scrolls from top to bottom in 240 frames. */
export const measureScrolling = (page: Page, selector: string): Promise<ScrollingResult> =>
  page.evaluate(async tiles => {
    const frameCount = 240;
    const height = document.documentElement.scrollHeight;
    const times: number[] = [];
    let peakTiles = 0;
    for (let frame = 0; frame <= frameCount; frame++) {
      scrollTo(0, ((height - innerHeight) * frame) / frameCount);
      times.push(await new Promise<number>(resolve => requestAnimationFrame(resolve)));
      peakTiles = Math.max(peakTiles, document.querySelectorAll(tiles).length);
    }
    const seconds = ((times.at(-1) ?? 0) - (times[0] ?? 0)) / 1_000;
    return { framesPerSecond: frameCount / seconds, peakTiles, height };
  }, selector);
