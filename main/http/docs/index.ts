import { createHash } from 'node:crypto';
import { docsPage, style } from './page.ts';

export interface Page {
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

const styleHash = createHash('sha256').update(style).digest('base64');

/** The page cannot run scripts, load resources, or be framed. */
const headers = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-cache',
};

/** Creates a function that returns the page for the document from `describe`. The first call renders the page. */
export function createDocs(describe: () => unknown): () => Page {
  let page: Page | null = null;
  return () => {
    page ??= { headers, text: docsPage(describe()) };
    return page;
  };
}
