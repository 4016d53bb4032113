/** Checks and pictures of a whole page, for many specs. */
import { join } from 'node:path';
import { AxeBuilder } from '@axe-core/playwright';
import { type BrowserContext, expect, type Locator, type Page, test } from '@playwright/test';
import { findCutTexts, findOverflows, untilLoaded } from './in-page.ts';

/** Returns the accessibility rules that the page breaks, each with the HTML of the elements at fault. */
export async function findViolations(axe: AxeBuilder): Promise<readonly string[]> {
  const { violations } = await axe.analyze();
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' and ')}`);
}

/** Checks the accessibility of the page, or only of the element that the selector matches. */
export async function expectAccessible(page: Page, selector?: string): Promise<void> {
  const axe = new AxeBuilder({ page });
  if (selector !== undefined) axe.include(selector);
  expect(await findViolations(axe)).toEqual([]);
}

/** Returns a description of each misfit: a page, dialog or menu that exceeds the window, or a label that is cut off. */
export const findMisfits = async (page: Page): Promise<readonly string[]> => [
  ...(await findOverflows(page)),
  ...(await findCutTexts(page)),
];

export async function expectFits(page: Page): Promise<void> {
  expect(await findMisfits(page)).toEqual([]);
}

/** Takes a picture of the window, or of the whole page, into the folder `screens` beside the traces. */
export async function takePicture(page: Page, name: string, { fullPage = false } = {}): Promise<void> {
  const path = join(test.info().project.outputDir, 'screens', `${name}.png`);
  await page.screenshot({ path, animations: 'disabled', fullPage });
}

/** Checks the accessibility and the fit of the page in both themes and at each width, and takes pictures. */
export async function expectShownWell(
  page: Page,
  name: string,
  widths: readonly number[] = [1440, 1280, 390],
): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const)
    for (const width of widths) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 900 });
      await untilLoaded(page);
      await takePicture(page, `${name}-${colorScheme}-${width}`, { fullPage: true });
      await expectAccessible(page);
      await expectFits(page);
    }
  await page.setViewportSize({ width: 1280, height: 900 });
}

/** Sets the language of the panel for all pages that the test opens after this call. */
export const setLanguage = (pages: Page | BrowserContext, language: string): Promise<unknown> =>
  pages.addInitScript(
    preferences => localStorage.setItem('trainyard.preferences', preferences),
    JSON.stringify({ theme: 'system', language }),
  );

/** Returns the width of an image in pixels once it has loaded; 0 before, and when it fails to load. */
export const imageWidth = (image: Locator): Promise<number> =>
  image.evaluate((element: { readonly naturalWidth: number }) => element.naturalWidth);
