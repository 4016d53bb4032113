/** Drags and zooms the timeline from within the page. */
import type { Page } from '@playwright/test';

/** The part of the browser's API that this function uses. */
interface Canvas {
  getBoundingClientRect(): { readonly left: number; readonly top: number };
  setPointerCapture: (id: number) => void;
  dispatchEvent(event: unknown): boolean;
}
declare const document: { querySelector(selector: 'canvas'): Canvas | null };
declare const requestAnimationFrame: (callback: (timeMs: number) => void) => number;
declare const PointerEvent: new (type: string, options: object) => unknown;
declare const WheelEvent: new (type: string, options: object) => unknown;

/** Drags or zooms the chart in every frame. Returns the number of frames per second. */
export const measureFrames = (page: Page, kind: 'pan' | 'zoom'): Promise<number> =>
  page.evaluate(async movement => {
    const canvas = document.querySelector('canvas');
    if (canvas === null) throw new Error('there is no canvas');
    const { left, top } = canvas.getBoundingClientRect();
    /** Options of an event at this distance from the left edge of the chart. */
    const pointerAt = (x: number) => ({
      clientX: left + x,
      clientY: top + 100,
      bubbles: true,
      cancelable: true,
      button: 0,
      pointerId: 1,
    });
    // `setPointerCapture` throws for events from a script, because they have no active pointer.
    canvas.setPointerCapture = () => {};
    if (movement === 'pan') canvas.dispatchEvent(new PointerEvent('pointerdown', pointerAt(400)));
    const times: number[] = [];
    for (let frame = 0; frame < 120; frame++) {
      times.push(await new Promise<number>(resolve => requestAnimationFrame(resolve)));
      // Zooms in one direction for twenty frames, then back for twenty frames.
      const deltaY = frame % 40 < 20 ? 30 : -30;
      if (movement === 'pan')
        canvas.dispatchEvent(new PointerEvent('pointermove', pointerAt(400 + 3 * (frame % 60))));
      else canvas.dispatchEvent(new WheelEvent('wheel', { ...pointerAt(300), deltaY, ctrlKey: true }));
    }
    if (movement === 'pan') canvas.dispatchEvent(new PointerEvent('pointerup', pointerAt(400)));
    const seconds = ((times.at(-1) ?? 0) - (times[0] ?? 0)) / 1_000;
    return (times.length - 1) / seconds;
  }, kind);
