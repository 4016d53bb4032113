/** Reads the visible content of a page, and finds elements that do not fit. */
import type { Page } from '@playwright/test';

/** The part of the browser's API that these functions use. All other code of the tests runs in Node. */
interface PageNode {
  readonly textContent: string | null;
  readonly parentElement: PageElement | null;
}
interface PageElement extends PageNode {
  readonly clientWidth: number;
  readonly scrollWidth: number;
  readonly tagName: string;
  getAttribute(name: string): string | null;
  closest(selector: string): PageElement | null;
  checkVisibility(): boolean;
  getBoundingClientRect(): {
    readonly left: number;
    readonly right: number;
    readonly top: number;
    readonly bottom: number;
  };
}
declare const document: {
  readonly body: PageElement;
  readonly documentElement: PageElement;
  readonly fonts: { readonly ready: Promise<unknown> };
  readonly activeElement: PageElement | null;
  createTreeWalker(root: PageElement, whatToShow: number): { nextNode(): PageNode | null };
  querySelectorAll(selector: string): Iterable<PageElement>;
};
declare const history: { pushState(state: null, unused: '', path: string): void };
declare const innerWidth: number;
declare const innerHeight: number;

/** Returns a description of each element that exceeds the window: a page that scrolls sideways, a dialog or a menu. */
export const findOverflows = (page: Page): Promise<readonly string[]> =>
  page.evaluate(() => {
    const problems: string[] = [];
    const { scrollWidth, clientWidth } = document.documentElement;
    if (scrollWidth > clientWidth) {
      const widest = [...document.querySelectorAll('main *')].findLast(
        element => element.checkVisibility() && element.getBoundingClientRect().right >= scrollWidth,
      );
      const name = `${widest?.tagName.toLowerCase()} "${widest?.textContent?.slice(0, 40)}"`;
      problems.push(`the page is ${scrollWidth} wide, the window ${clientWidth}: ${name}`);
    }
    for (const dialog of document.querySelectorAll('[role="dialog"], [role="alertdialog"], [role="menu"]')) {
      const { left, right, top, bottom } = dialog.getBoundingClientRect();
      if (left < 0 || right > innerWidth || top < 0 || bottom > innerHeight)
        problems.push(`a ${dialog.getAttribute('role')} lies at ${left}, ${top} to ${right}, ${bottom}`);
    }
    return problems;
  });

/** Returns headings and labels whose text is wider than the element and therefore cut off. */
export const findCutTexts = (page: Page): Promise<readonly string[]> =>
  page.evaluate(() => {
    const labels =
      'h1, h2, h3, button, label, legend, th, dt, [role="columnheader"], [role="tab"], .rail-link';
    // Widths are rounded to whole pixels, so they may differ by one.
    const tolerance = 1;
    return [...document.querySelectorAll(labels)]
      .filter(element => element.checkVisibility() && element.closest('.unseen') === null)
      .filter(({ scrollWidth, clientWidth }) => clientWidth > 1 && scrollWidth > clientWidth + tolerance)
      .map(({ tagName, textContent, scrollWidth, clientWidth }) => {
        return `${tagName.toLowerCase()} "${textContent}": ${scrollWidth} in ${clientWidth}`;
      });
  });

/** Returns all texts that are visible or read aloud, except verbatim ones: code, keys, times. */
export const readTexts = (page: Page): Promise<readonly string[]> =>
  page.evaluate(() => {
    const verbatim = 'code, pre, kbd, time, textarea, script, style, .mono, option[lang], [translate="no"]';
    const texts = new Set<string>();
    /** The value of `NodeFilter.SHOW_TEXT`, with which the walker visits only text nodes. */
    const showText = 4;
    const walker = document.createTreeWalker(document.body, showText);
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      const parent = node.parentElement;
      // The panel splits a long name in two, to shorten it in its middle.
      const text = (parent?.closest('.short-name') ?? node).textContent?.trim() ?? '';
      if (text === '' || parent === null || parent.closest(verbatim) !== null) continue;
      if (parent.checkVisibility() || parent.tagName === 'OPTION') texts.add(text);
    }
    for (const name of ['aria-label', 'placeholder', 'title', 'alt', 'aria-valuetext'])
      for (const element of document.querySelectorAll(`[${name}]`))
        if (element.closest(verbatim) === null) texts.add(element.getAttribute(name)?.trim() ?? '');
    return [...texts];
  });

/** Returns the targets of links in page order. */
export const hrefsIn = (page: Page, selector: string): Promise<readonly string[]> =>
  page.evaluate(
    links => [...document.querySelectorAll(links)].map(link => link.getAttribute('href') ?? ''),
    selector,
  );

/** Changes the URL with `history.pushState`, as a click on a link does. */
export const navigateTo = (page: Page, path: string): Promise<void> =>
  page.evaluate(target => history.pushState(null, '', target), path);

/** Waits until the fonts have loaded and every table row has content. */
export async function untilLoaded(page: Page): Promise<void> {
  await page.evaluate(async () => {
    await document.fonts.ready;
  });
  // The cells of a row are rendered slightly later than the row.
  await page.waitForFunction(() =>
    [...document.querySelectorAll('[data-row]')].every(row => row.textContent !== ''),
  );
}
