/** A function in a profile. `url`: the URL of its file; empty for native code. */
export interface Frame {
  readonly functionName: string;
  readonly url: string;
  /** Line of the function in its file, counted from 0. */
  readonly lineNumber: number;
}

/** Areas of V8's states, which the profile lists like functions. An area is a group of functions whose times are summed. */
const stateAreas: Readonly<Record<string, string>> = {
  '(idle)': 'idle',
  '(garbage collector)': 'garbage collector',
  '(program)': 'outside JavaScript',
  '(root)': 'outside JavaScript',
};

export const idle = 'idle';

/** Areas of Node's own modules. The first match counts; all others belong to `node: the rest`. */
const nodeAreas: readonly (readonly [RegExp, string])[] = [
  [/^node:(internal\/)?crypto/, 'node: crypto'],
  [/^node:internal\/(modules|main|bootstrap|deps\/amaro)/, 'node: loading of modules'],
  [
    /^node:(internal\/)?(_?https?|_http_\w+|net|tls|_tls_\w+|js_stream_socket|deps\/undici)\b/,
    'node: http and net',
  ],
  [/^node:(internal\/)?(streams?|stream_base_commons|webstreams|buffer)\b/, 'node: streams and buffers'],
];

/** Express and the packages that it depends on. */
const expressPackages = new Set([
  'express',
  'router',
  'path-to-regexp',
  'finalhandler',
  'body-parser',
  'raw-body',
  'on-finished',
  'type-is',
  'content-type',
  'parseurl',
  'qs',
  'debug',
  'bytes',
  'etag',
  'fresh',
  'vary',
  'accepts',
  'negotiator',
  'mime-types',
  'send',
  'serve-static',
  'encodeurl',
  'escape-html',
  'http-errors',
  'statuses',
  'proxy-addr',
  'cookie',
  'iconv-lite',
]);

/**
 * Files whose functions call JSON.parse or JSON.stringify for each request and response. V8 adds the time of these calls to the
 * caller.
 */
const jsonFunctions = /\/(body-parser\/lib\/types\/json|express\/lib\/response)\.js$/;

/**
 * Returns the area of a function. Returns null for native functions and regular expressions, which belong to the area of their
 * caller.
 */
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

/** Returns the file for the orchestrator's core and the store, and the folder for all other files. */
function ownAreaOf(path: string): string {
  if (/^main\/(orchestrator|store)\//.test(path)) return path;
  const folders = path.split('/').slice(0, -1);
  return folders.length === 0 ? 'Trainyard: the rest' : folders.slice(0, 2).join('/');
}

/** Returns the URL of the folder with the sources, which is the parent of node_modules, with a final slash. */
export function rootOf(urls: readonly string[]): string {
  const packaged = urls.find(url => url.includes('/node_modules/')) ?? '';
  return packaged.slice(0, packaged.indexOf('node_modules/'));
}
