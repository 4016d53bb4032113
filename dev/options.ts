import { join } from 'node:path';

export interface DevOptions {
  /** Port of the page; 0 for any free port; null for the default port, or any free port if the default is in use. */
  readonly port: number | null;
  /** Data folder, kept between runs. */
  readonly dataDir: string;
  /** If true, deletes the data of earlier runs. */
  readonly isFresh: boolean;
  /** Options that are passed to the demo fleet. */
  readonly fleet: readonly string[];
}

type Read =
  | { readonly kind: 'options'; readonly options: DevOptions }
  | { readonly kind: 'help' }
  | { readonly kind: 'trouble'; readonly text: string };

export const usage = `npm run dev -- [options] [options of the demo fleet, such as --workers 12]

  --fresh              start with an empty data folder
  --port <port>        of the page (default: 5173, or any free one)
  --data-dir <folder>  where the server stores its data (default: .dev)
`;

const fleetOptions = ['--workers', '8', '--flaky', '1', '--submit-rate', '12/min'];

/** Parses the options. If an option is repeated, the last value counts, as in the demo fleet. */
export function readOptions(argv: readonly string[], root: string): Read {
  const remaining = [...argv];
  const fleet = [...fleetOptions];
  let port: number | null = null;
  let dataDir = join(root, '.dev');
  let isFresh = false;
  for (let word = remaining.shift(); word !== undefined; word = remaining.shift()) {
    const [name = '', inline] = word.split(/=(.*)/s, 2);
    const value = (): string => inline ?? remaining.shift() ?? '';
    if (name === '--help') return { kind: 'help' };
    if (name === '--fresh') isFresh = true;
    else if (name === '--data-dir') dataDir = value();
    else if (name === '--port') port = portOf(value());
    else fleet.push(word);
    if (Number.isNaN(port)) return { kind: 'trouble', text: '--port needs a number from 0 to 65535' };
    if (dataDir === '') return { kind: 'trouble', text: '--data-dir needs the name of a folder' };
  }
  return { kind: 'options', options: { port, dataDir, isFresh, fleet } };
}

const portOf = (text: string): number =>
  /^\d{1,5}$/.test(text) && Number(text) < 65_536 ? Number(text) : Number.NaN;
