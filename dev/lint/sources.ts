import { dirname } from 'node:path';

/** A file of the repository; `name` is its path from the root, with slashes. */
export interface SourceFile {
  readonly name: string;
  readonly text: string;
}

/** One finding, as `file:line: message`. */
export type Finding = string;

export const at = (file: string, line: number, message: string): Finding => `${file}:${line}: ${message}`;

const lineOf = (text: string, offset: number): number => text.slice(0, offset).split('\n').length;

/** Folders whose sources must be in subfolders, except for the listed files. */
const filesBesideFolders: Readonly<Record<string, readonly string[]>> = {
  agent: ['clock', 'job', 'main', 'worker'],
  'main/orchestrator': [
    'core',
    'events',
    'index',
    'interface',
    'lifecycle',
    'model',
    'orchestrator',
    'input-model',
    'node-model',
    'pool-model',
    'v1-agent',
  ],
  'main/store': ['data-store', 'sqlite-store'],
  'main/http': ['server'],
};

/** Folders of test tools which have unit tests themselves. */
const testTools = ['tests/bench', 'tests/chaos', 'tests/faults', 'tests/support'];

const unitTests = 'tests/unit/';

/** Finds files that must be in a subfolder, and unit tests in folders that do not mirror a source folder. */
export function findStrays(files: readonly SourceFile[]): readonly Finding[] {
  const folders = new Set(files.flatMap(({ name }) => parentsOf(name)));
  return files.flatMap(({ name }) => {
    const folder = dirname(name);
    const allowed = filesBesideFolders[folder];
    if (allowed !== undefined && name.endsWith('.ts') && !allowed.includes(baseOf(name)))
      return [at(name, 1, `is not in a subfolder of ${folder}/: move it into one`)];
    if (!/\.test\.tsx?$/.test(name) || !name.startsWith(unitTests)) return [];
    const mirrored = folder.slice(unitTests.length);
    const isMirror = folders.has(mirrored) || testTools.includes(`tests/${mirrored}`);
    return isMirror ? [] : [at(name, 1, `has no source folder: ${mirrored}/ does not exist`)];
  });
}

function parentsOf(name: string): readonly string[] {
  const parts = name.split('/').slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
}

const baseOf = (name: string): string => name.slice(name.lastIndexOf('/') + 1).replace(/\.ts$/, '');

const comment = /\/\*\*?\s*([\s\S]*?)\*\/|(?<=^\s*)\/\/ ([^\n]*(?:\n\s*\/\/ [^\n]*)*)/gm;

/** Matches relative clauses and "How" at the start of a comment, because they hide the subject of the sentence. */
const relativeOpener =
  /^(?:Of (?:each|every|all|the|that|those)|Who|Whom|Whoever|Whatever|That which|For how (?:long|many)|(?:By|In|With|For|From) which|(?:What|How)(?![^.]*\?))\b/;

/** Finds comments that open with a relative clause or "How". */
export function findRelativeOpeners({ name, text }: SourceFile): readonly Finding[] {
  return [...text.matchAll(comment)].flatMap(({ 1: block, 2: line, index }) => {
    const words = (block ?? line ?? '').replaceAll(/\n\s*(?:\*|\/\/) ?/g, ' ').trim();
    return relativeOpener.test(words)
      ? [
          at(
            name,
            lineOf(text, index),
            `a comment opens with a relative clause or "How": "${words.slice(0, 40)}"`,
          ),
        ]
      : [];
  });
}

/** Patterns of names that were replaced, with the standard terms that replaced them (GLOSSARY.md). */
const replaced: readonly (readonly [name: RegExp, term: string])[] = [
  [/^[hH]indrance/, 'JobBlocker'],
  [/^[oO]bstacle/, 'IneligibilityReason'],
  [/^([pP]resenceBook|createPresence)/, 'ConnectionRegistry'],
  [/^sayGoodbye$/, 'markOffline or notifyShutdown'],
  [/^letSettle$/, 'startCooldown'],
  [/^(Rival|turnAway)$/, 'DuplicateInstance, rejectDuplicate'],
  [/^([bB]ringer|createBringer)/, 'ArtifactUploader'],
  [
    /^(createMention|noteUnderWay|TroubleTeller)$/,
    'createProgressReporter, trackInFlight, connection warnings',
  ],
  [/^(Stretch|pour|pourWhenAsked)$/, 'StreamBody, pipeBody, or a range'],
  [/^(Door|openDoor|[A-Z]\w*Desk|create\w*Desk)$/, 'HttpListener, or a handler'],
  [/^(LogShelf|createLogShelf|regrets)$/, 'OpenLogCache, rollbackHooks'],
  [/[sS]ieve/, 'filter'],
  [/^(Surroundings|Ground|Works|Exchange|SetParts|\w+Parts)$/, 'Deps, Options, Context or Scope'],
  [/^(Farewell|createFarewell|Backstage)/, 'QuitFlow, setup'],
  [/^(createLine|JobInLine)$/, 'createJobQueue, PendingCandidate'],
  [/^(tellWorker|tellJob|tellQueue)$/, 'recordWorkerEvent, recordJobEvent, recordQueueEvent'],
  [/^(most|least)[A-Z]/, 'max or min'],
];

/** Names that match a pattern but are allowed. */
const allowedNames: ReadonlySet<string> = new Set([
  'mostFresh',
  'CurveParts',
  'LogParts',
  'DataParts',
  'TlsParts',
]);

/** Matches comments, strings, templates and regular expressions, where any word is allowed. */
const nonCode =
  /\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`|(?<=[(,=:[!&|?{};]\s*)\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/[dgimsuvy]*/g;

const blank = (text: string): string => text.replaceAll(/[^\n]/g, ' ');

/** Finds identifiers that standard terms have replaced. */
export function findOldWords({ name, text }: SourceFile): readonly Finding[] {
  const code = text.replaceAll(nonCode, blank);
  return [...code.matchAll(/(?<![\w$])[A-Za-z_$][\w$]*/g)].flatMap(({ 0: word, index }) => {
    if (allowedNames.has(word)) return [];
    const [, term] = replaced.find(([old]) => old.test(word)) ?? [];
    return term === undefined
      ? []
      : [at(name, lineOf(text, index), `${word}: use the standard term (${term})`)];
  });
}
