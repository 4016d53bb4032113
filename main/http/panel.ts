import { join } from 'node:path';
import express, { type Express } from 'express';

/** What a page of the panel may load: its own files, and the calls of its own address. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  // The tabs of a browser share one that holds their stream of events.
  "worker-src 'self'",
  // Components set the place of a menu, and the length of a bar, from scripts, which no policy concerns.
  "style-src 'self'",
  // What a trainer has made is handed out to be kept; the page shows pictures and films of it from its own memory.
  "img-src 'self' blob: data:",
  "media-src 'self' blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** What the build gives a name by its contents never changes under that name. */
const forEver = 'public, max-age=31536000, immutable';

/** Serves the panel that was built into this folder. */
export function servePanel(app: Express, folder: string): void {
  app.use(
    '/assets',
    express.static(join(folder, 'assets'), {
      index: false,
      redirect: false,
      setHeaders: response => response.setHeader('Cache-Control', forEver),
    }),
  );
  // Every address of a page is answered with the one page, which shows what the address says.
  app.get(/^\/(?:|(?:workers|jobs|queue|data|audit|settings|help)(?:\/.*)?)$/, (_request, response) => {
    response.setHeader('Content-Security-Policy', policy);
    response.setHeader('Referrer-Policy', 'no-referrer');
    response.setHeader('Cache-Control', 'no-cache');
    // By its name alone: a folder above it may begin with a dot, and what does is not given away.
    response.sendFile('index.html', { root: folder });
  });
}
