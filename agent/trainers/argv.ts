/**
 * Splits the trainer's command line into words as a POSIX shell does (XCU 2.2, Quoting). No other shell feature is
 * supported. The command runs without a shell, so syntax that only a shell understands is rejected. As a literal
 * argument, such syntax would fail later for no visible reason.
 */

export type SplitCommand =
  | { readonly ok: true; readonly argv: readonly string[] }
  | { readonly ok: false; readonly message: string };

/** Characters that are special to a shell wherever they are unquoted. */
const OPERATORS = '|&;<>()$`';
/** Characters that are special only at the start of a word: a comment, a home folder. */
const WORD_START_OPERATORS = '#~';
/** Inside double quotes a backslash escapes only these characters (XCU 2.2.3). Before other characters, it is literal. */
const ESCAPED_IN_DOUBLE_QUOTES = '$`"\\';
/** Inside double quotes, `$` starts an expansion if one of these characters follows. Before any other, `$` is literal. */
const EXPANDS = /^[A-Za-z0-9_{(@*#?$!-]/;
const PLACEHOLDER = /\{([A-Za-z0-9_]+)\}/g;
const ASSIGNMENT = /^[A-Za-z_][A-Za-z0-9_]*=/;

/**
 * The result of one step of the splitter: the text to append to the word and the next index, or why the command is
 * rejected. The text `''` starts an empty word; undefined starts no word.
 */
type Step = { readonly text: string | undefined; readonly next: number } | { readonly refused: string };

function shellOnly(what: string): Step {
  return {
    refused: `The command has ${what}, but no shell is used: quote it, or put the command in a script.`,
  };
}

function readSingleQuoted(text: string, at: number): Step {
  const close = text.indexOf("'", at + 1);
  if (close < 0)
    return { refused: `The command has a single quote (character ${at + 1}) that is never closed.` };
  return { text: text.slice(at + 1, close), next: close + 1 };
}

function readDoubleQuoted(text: string, at: number): Step {
  let word = '';
  for (let i = at + 1; i < text.length; i += 1) {
    const char = text.charAt(i);
    const following = text.charAt(i + 1);
    if (char === '"') return { text: word, next: i + 1 };
    if (char === '`' || (char === '$' && EXPANDS.test(following))) {
      return shellOnly(`"${char}" inside double quotes (single quotes keep it as it is)`);
    }
    if (char === '\\' && following === '\n') {
      i += 1;
    } else if (char === '\\' && following !== '' && ESCAPED_IN_DOUBLE_QUOTES.includes(following)) {
      word += following;
      i += 1;
    } else {
      word += char;
    }
  }
  return { refused: `The command has a double quote (character ${at + 1}) that is never closed.` };
}

function readEscaped(text: string, at: number): Step {
  const escaped = text.charAt(at + 1);
  if (escaped === '') return { refused: 'The command ends with a backslash that escapes nothing.' };
  // A backslash before a line break joins the two lines.
  return { text: escaped === '\n' ? undefined : escaped, next: at + 2 };
}

/** Reads the text at `at`, which is not white space. `isWordStart`: a word starts here. */
function readNext(text: string, at: number, isWordStart: boolean): Step {
  const char = text.charAt(at);
  if (char === "'") return readSingleQuoted(text, at);
  if (char === '"') return readDoubleQuoted(text, at);
  if (char === '\\') return readEscaped(text, at);
  if (char === '\n' || char === '\r') return shellOnly('a line break');
  if (OPERATORS.includes(char) || (isWordStart && WORD_START_OPERATORS.includes(char)))
    return shellOnly(`"${char}"`);
  return { text: char, next: at + 1 };
}

/** Rejects words that cannot be run as a command. */
function checkWords(argv: readonly string[]): SplitCommand {
  const [program] = argv;
  if (program === undefined) return { ok: false, message: 'The command is empty.' };
  if (program === '') return { ok: false, message: 'The command names no program: its first word is empty.' };
  if (ASSIGNMENT.test(program)) {
    return {
      ok: false,
      message: `The command begins with ${program}, which sets a variable only in a shell, but no shell is used: start with "env ${program}" instead.`,
    };
  }
  return { ok: true, argv };
}

/**
 * Whether a character separates words. In a shell, a line break would separate commands. So it counts as white space only
 * before the first word and after the last (`isAround`).
 */
function isSeparator(char: string, isAround: boolean): boolean {
  return char === ' ' || char === '\t' || (isAround && (char === '\n' || char === '\r'));
}

/**
 * Splits a command into words. Performs no variable, command, tilde, glob or brace expansion: `*` and `{x}` stay
 * literal. Rejects syntax that a shell would expand or redirect, with a message that explains it.
 */
export function splitCommand(text: string): SplitCommand {
  if (text.includes('\0')) return { ok: false, message: 'The command contains a NUL character.' };
  const end = text.trimEnd().length;
  const argv: string[] = [];
  let word: string | undefined;
  for (let at = 0; at < text.length; ) {
    const isFirst = argv.length === 0 && word === undefined;
    if (isSeparator(text.charAt(at), isFirst || at >= end)) {
      if (word !== undefined) argv.push(word);
      word = undefined;
      at += 1;
      continue;
    }
    const step = readNext(text, at, word === undefined);
    if ('refused' in step) return { ok: false, message: step.refused };
    if (step.text !== undefined) word = (word ?? '') + step.text;
    at = step.next;
  }
  if (word !== undefined) argv.push(word);
  return checkWords(argv);
}

/**
 * Replaces `{name}` inside each argument by `values[name]`, e.g. `{config_path}`, `{output_dir}`, `{resume_from}`.
 * Leaves unknown names as they are. Does not expand inserted values again, so a path that contains braces is safe.
 */
export function fillPlaceholders(
  argv: readonly string[],
  values: Readonly<Record<string, string>>,
): readonly string[] {
  const replacements = new Map(Object.entries(values));
  return argv.map(argument =>
    argument.replace(PLACEHOLDER, (token, name: string) => replacements.get(name) ?? token),
  );
}
