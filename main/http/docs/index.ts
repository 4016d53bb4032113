import { createHash } from 'node:crypto';
import { docsPage } from './page.ts';
import { style } from './style.ts';

export interface Page {
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

const styleHash = createHash('sha256').update(style).digest('base64');

/** Nothing runs, nothing is loaded, nothing may frame it. */
const headers = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-cache',
};

/** What shows the document that `describe` gives; made once, when it is first asked for. */
export function createDocs(describe: () => unknown): () => Page {
  let page: Page | null = null;
  return () => {
    page ??= { headers, text: docsPage(describe()) };
    return page;
  };
}
