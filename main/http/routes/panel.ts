import { join } from 'node:path';
import express, { type Express } from 'express';

/** The panel may only load its own files and only call its own address. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  // A shared worker reads the event stream for all tabs of a browser.
  "worker-src 'self'",
  // Scripts set the positions of menus and the sizes of bars, which this policy does not restrict.
  "style-src 'self'",
  // The server sends a trainer's files only as attachments. The page shows images and videos from blobs.
  "img-src 'self' blob: data:",
  "media-src 'self' blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** The names of these files contain a hash of their content, so a file with a given name never changes. */
const forEver = 'public, max-age=31536000, immutable';

/** Files of the installed app. Their names never change, so browsers must check for new versions. */
const appFiles =
  /^\/((?:service-worker\.js|manifest\.webmanifest|unreachable\.html)|icons\/[a-z0-9-]+\.png)$/;

/** Serves the built panel. */
export function servePanel(app: Express, folder: string): void {
  app.use(
    '/assets',
    express.static(join(folder, 'assets'), {
      index: false,
      redirect: false,
      setHeaders: response => response.setHeader('Cache-Control', forEver),
    }),
  );
  app.get(appFiles, (request, response) => {
    response.setHeader('Content-Security-Policy', policy);
    response.setHeader('Referrer-Policy', 'no-referrer');
    response.setHeader('Cache-Control', 'no-cache');
    response.sendFile(request.path.slice(1), { root: folder });
  });
  // Every URL of a page returns the same document, which then shows the page for its URL.
  app.get(
    /^\/(?:|(?:workers|jobs|gallery|compare|queue|timeline|pools|data|audit|settings|help)(?:\/.*)?)$/,
    (_request, response) => {
      response.setHeader('Content-Security-Policy', policy);
      response.setHeader('Referrer-Policy', 'no-referrer');
      response.setHeader('Cache-Control', 'no-cache');
      // Only the file name is passed: `sendFile` rejects paths that contain a folder with a leading dot, and the panel may be in
      // such a folder.
      response.sendFile('index.html', { root: folder });
    },
  );
}
