/** Reads the visible content of a page, and finds what does not fit. */
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
  createTreeWalker(root: PageElement, what: number): { nextNode(): PageNode | null };
  querySelectorAll(selector: string): Iterable<PageElement>;
};
declare const history: { pushState(state: null, unused: '', path: string): void };
declare const innerWidth: number;
declare const innerHeight: number;

/** Finds elements that do not fit: a page that scrolls sideways, or a dialog larger than the window. */
export const tooWide = (page: Page): Promise<readonly string[]> =>
  page.evaluate(() => {
    const found: string[] = [];
    const { scrollWidth, clientWidth } = document.documentElement;
    if (scrollWidth > clientWidth) found.push(`the page is ${scrollWidth} wide, the window ${clientWidth}`);
    for (const dialog of document.querySelectorAll('[role="dialog"], [role="alertdialog"], [role="menu"]')) {
      const { left, right, top, bottom } = dialog.getBoundingClientRect();
      if (left < 0 || right > innerWidth || top < 0 || bottom > innerHeight)
        found.push(`a ${dialog.getAttribute('role')} lies at ${left}, ${top} to ${right}, ${bottom}`);
    }
    return found;
  });

/** Finds names that are cut off, because names cannot wrap. */
export const cutTexts = (page: Page): Promise<readonly string[]> =>
  page.evaluate(() => {
    const names =
      'h1, h2, h3, button, label, legend, th, dt, [role="columnheader"], [role="tab"], .rail-link';
    const slack = 1;
    return [...document.querySelectorAll(names)]
      .filter(each => each.checkVisibility() && each.closest('.unseen') === null)
      .filter(({ scrollWidth, clientWidth }) => clientWidth > 1 && scrollWidth > clientWidth + slack)
      .map(({ tagName, textContent, scrollWidth, clientWidth }) => {
        return `${tagName.toLowerCase()} "${textContent}": ${scrollWidth} in ${clientWidth}`;
      });
  });

/** Returns all texts that are visible or read aloud, except verbatim ones: code, keys, times. */
export const textsOf = (page: Page): Promise<readonly string[]> =>
  page.evaluate(() => {
    const quoted = 'code, pre, kbd, time, textarea, script, style, .mono, option[lang], [translate="no"]';
    const texts = new Set<string>();
    const showText = 4;
    const walker = document.createTreeWalker(document.body, showText);
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      const around = node.parentElement;
      const text = node.textContent?.trim() ?? '';
      if (text === '' || around === null || around.closest(quoted) !== null) continue;
      if (around.checkVisibility() || around.tagName === 'OPTION') texts.add(text);
    }
    for (const name of ['aria-label', 'placeholder', 'title', 'alt', 'aria-valuetext'])
      for (const each of document.querySelectorAll(`[${name}]`))
        if (each.closest(quoted) === null) texts.add(each.getAttribute(name)?.trim() ?? '');
    return [...texts];
  });

/** Returns the targets of links in page order. */
export const hrefsIn = (page: Page, selector: string): Promise<readonly string[]> =>
  page.evaluate(
    wanted => [...document.querySelectorAll(wanted)].map(link => link.getAttribute('href') ?? ''),
    selector,
  );

/** Navigates as a click on a link does. */
export const navigateTo = (page: Page, path: string): Promise<void> =>
  page.evaluate(to => history.pushState(null, '', to), path);

/** Waits until everything has loaded, including fonts. */
export async function untilLoaded(page: Page): Promise<void> {
  await page.evaluate(async () => {
    await document.fonts.ready;
  });
  // The cells of a row are rendered slightly later than the row.
  await page.waitForFunction(() =>
    [...document.querySelectorAll('[data-row]')].every(row => row.textContent !== ''),
  );
}
