import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Path of Chromium in Debian and Ubuntu. */
const installed = '/usr/bin/chromium';

/**
 * Returns the path of a Chromium for the tests: the installed Chromium or, on Linux x64, a headless Chromium from an npm package.
 * Null when neither exists.
 */
export async function findChromium(): Promise<string | null> {
  if (existsSync(installed)) return installed;
  if (process.platform !== 'linux' || process.arch !== 'x64') return null;
  const { default: packaged, inflate } = await import('@sparticuz/chromium');
  // The package contains libraries that are missing on machines without a browser.
  const folder = dirname(fileURLToPath(import.meta.resolve('@sparticuz/chromium')));
  const libraries = await inflate(join(folder, '../bin/al2023.tar.br'));
  const paths = [join(libraries, 'lib'), process.env['LD_LIBRARY_PATH'] ?? ''].filter(path => path !== '');
  process.env['LD_LIBRARY_PATH'] = paths.join(':');
  return packaged.executablePath();
}
