import { at, type Finding, lineOf, type SourceFile } from './source.ts';

/** Names that were replaced by standard terms, and the terms (GLOSSARY.md). */
const replaced: readonly (readonly [name: RegExp, instead: string])[] = [
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

/** The repository's own names of these kinds that are meant. */
const meant: ReadonlySet<string> = new Set(['mostFresh', 'CurveParts', 'LogParts', 'DataParts', 'TlsParts']);

/** Comments, strings, templates and regular expressions, which may use any word. */
const notCode =
  /\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`|(?<=[(,=:[!&|?{};]\s*)\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/[dgimsuvy]*/g;

const blank = (text: string): string => text.replaceAll(/[^\n]/g, ' ');

/** Finds identifiers of the old vocabulary. */
export function findOldWords({ name, text }: SourceFile): readonly Finding[] {
  const code = text.replaceAll(notCode, blank);
  return [...code.matchAll(/(?<![\w$])[A-Za-z_$][\w$]*/g)].flatMap(({ 0: word, index }) => {
    const found = meant.has(word) ? undefined : replaced.find(([old]) => old.test(word));
    return found === undefined
      ? []
      : [at(name, lineOf(text, index), `${word}: use the standard term (${found[1]})`)];
  });
}
