/** A request as a chaos proxy takes it from a client, whole. */
export interface ProxiedCall {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly text: string;
  /** The body as JSON; null when it is none. */
  readonly body: unknown;
}

/**
 * What becomes of a call:
 * - `pass`: it is forwarded, and its answer brought back;
 * - `drop`: it vanishes, and its socket stays open without an answer;
 * - `reset`: it vanishes, and its socket is reset;
 * - `lose_answer`, `reset_answer`: it is forwarded; its answer vanishes, or is a reset;
 * - `duplicate`: it is forwarded twice at once; the client gets the answer that comes first.
 */
export type Fate = 'pass' | 'drop' | 'reset' | 'lose_answer' | 'reset_answer' | 'duplicate';

export interface Rule {
  /** `POST /api/workers/heartbeat`: a text that method and path, joined by a blank, contain. */
  readonly call?: string;
  readonly where?: (call: ProxiedCall) => boolean;
  readonly fate: Fate;
  /** How often it is applied; without a number, until it is taken back. */
  readonly times?: number;
}

export interface RuleBook {
  /** The answer takes it back. Of several that fit, the oldest is applied. */
  add(rule: Rule): () => void;
  fateOf(call: ProxiedCall): Fate;
  clear(): void;
}

export function createRuleBook(): RuleBook {
  const rules = new Map<Rule, number>();
  return {
    add(rule) {
      rules.set(rule, rule.times ?? Number.POSITIVE_INFINITY);
      return () => void rules.delete(rule);
    },
    fateOf(call) {
      for (const [rule, left] of rules) {
        if (!fits(rule, call)) continue;
        if (left > 1) rules.set(rule, left - 1);
        else rules.delete(rule);
        return rule.fate;
      }
      return 'pass';
    },
    clear: () => rules.clear(),
  };
}

const fits = ({ call = '', where }: Rule, seen: ProxiedCall): boolean =>
  `${seen.method} ${seen.path}`.includes(call) && (where === undefined || where(seen));

/** For `where`: a report of this status, in the agent's own word. */
export const reports =
  (status: string) =>
  ({ body }: ProxiedCall): boolean =>
    typeof body === 'object' && body !== null && 'status' in body && body.status === status;
