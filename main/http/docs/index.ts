import { createHash } from 'node:crypto';
import { docsPage, style } from './page.ts';

export interface Page {
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

const styleHash = createHash('sha256').update(style).digest('base64');

/** The page runs no scripts, loads nothing, and cannot be framed. */
const headers = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-cache',
};

/** Returns the page for the document that `describe` returns. It renders the page on the first request only. */
export function createDocs(describe: () => unknown): () => Page {
  let page: Page | null = null;
  return () => {
    page ??= { headers, text: docsPage(describe()) };
    return page;
  };
}
