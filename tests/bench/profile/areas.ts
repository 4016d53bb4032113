/** Where a sampled function lives: `file` is an address as V8 gives it, and empty for what is no JavaScript of a file. */
export interface Frame {
  readonly functionName: string;
  readonly url: string;
  /** From 0 on. */
  readonly lineNumber: number;
}

/** What V8 puts in place of a function, by the names it has for it. */
const stateAreas: Readonly<Record<string, string>> = {
  '(idle)': 'idle',
  '(garbage collector)': 'garbage collector',
  '(program)': 'outside JavaScript',
  '(root)': 'outside JavaScript',
};

export const idle = 'idle';

/** The first that fits; what is not named here is `node: the rest`. */
const nodeAreas: readonly (readonly [RegExp, string])[] = [
  [/^node:(internal\/)?crypto/, 'node: crypto'],
  [/^node:internal\/(modules|main|bootstrap|deps\/amaro)/, 'node: loading of modules'],
  [
    /^node:(internal\/)?(_?https?|_http_\w+|net|tls|_tls_\w+|js_stream_socket|deps\/undici)\b/,
    'node: http and net',
  ],
  [/^node:(internal\/)?(streams?|stream_base_commons|webstreams|buffer)\b/, 'node: streams and buffers'],
];

/** Express, and what it is made of. */
const expressPackages = new Set(
  'express router path-to-regexp finalhandler body-parser raw-body on-finished type-is content-type parseurl qs debug bytes etag fresh vary accepts negotiator mime-types send serve-static encodeurl escape-html http-errors statuses proxy-addr cookie iconv-lite'.split(
    ' ',
  ),
);

/** What calls JSON.parse or JSON.stringify for each request and answer. V8 shows neither: they are time of who called. */
const jsonFunctions = /\/(body-parser\/lib\/types\/json|express\/lib\/response)\.js$/;

/** Null for what has no file, and so belongs to who called it: native functions and regular expressions. */
export function areaOf({ functionName, url }: Frame, root: string): string | null {
  if (url === '') return stateAreas[functionName] ?? null;
  if (url.startsWith('wasm:')) return 'node: loading of modules';
  if (url.startsWith('node:'))
    return nodeAreas.find(([pattern]) => pattern.test(url))?.[1] ?? 'node: the rest';
  const name = packageOf(url);
  if (name === null) return ownAreaOf(url.slice(root.length));
  if (jsonFunctions.test(url) && /^(parse|stringify)$/.test(functionName)) return 'JSON of bodies';
  return expressPackages.has(name) ? 'express and its packages' : name;
}

const packageOf = (url: string): string | null =>
  /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? null;

/** What decides and what stores by its file, all else by its folder. */
function ownAreaOf(path: string): string {
  if (/^main\/(orchestrator|store)\//.test(path)) return path;
  const folders = path.split('/').slice(0, -1);
  return folders.length === 0 ? 'Trainyard: the rest' : folders.slice(0, 2).join('/');
}

/** The folder with the packages is that of the sources, wherever the profile was taken. Ends with a slash. */
export function rootOf(urls: readonly string[]): string {
  const packaged = urls.find(url => url.includes('/node_modules/')) ?? '';
  return packaged.slice(0, packaged.indexOf('node_modules/'));
}
