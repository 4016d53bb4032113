import { join } from 'node:path';
import express, { type Express } from 'express';

/** The panel may load only its own files and call only its own address. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  // A shared worker holds the event stream for all tabs of a browser.
  "worker-src 'self'",
  // Components position menus and size bars from scripts, which the policy does not restrict.
  "style-src 'self'",
  // The server sends trainer output as attachments only. The page shows images and videos of it from blobs.
  "img-src 'self' blob: data:",
  "media-src 'self' blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** The build names these files by their content, so a file never changes under its name. */
const forEver = 'public, max-age=31536000, immutable';

/** Serves the built panel from this folder. */
export function servePanel(app: Express, folder: string): void {
  app.use(
    '/assets',
    express.static(join(folder, 'assets'), {
      index: false,
      redirect: false,
      setHeaders: response => response.setHeader('Cache-Control', forEver),
    }),
  );
  // Every page URL returns the same document, which renders the page for the URL.
  app.get(/^\/(?:|(?:workers|jobs|queue|pools|data|audit|settings|help)(?:\/.*)?)$/, (_request, response) => {
    response.setHeader('Content-Security-Policy', policy);
    response.setHeader('Referrer-Policy', 'no-referrer');
    response.setHeader('Cache-Control', 'no-cache');
    // Pass only the file name: `sendFile` rejects paths with a dot folder, and a folder above this file may be one.
    response.sendFile('index.html', { root: folder });
  });
}
