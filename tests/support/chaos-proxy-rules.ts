/** A complete request that a chaos proxy has received from a client. */
export interface ProxiedCall {
  readonly method: string;
  /** Includes the query string. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly text: string;
  /** The body as JSON; null when it is not JSON. */
  readonly body: unknown;
}

/**
 * The action of the proxy for a call:
 *
 * - `pass`: forwards it and returns the answer;
 * - `drop`: discards it, and keeps its socket open without an answer;
 * - `reset`: discards it and resets its socket;
 * - `lose_answer`: forwards it, but discards the answer;
 * - `reset_answer`: forwards it, but resets the socket instead of sending the answer;
 * - `duplicate`: forwards it twice at the same time; the client receives the first answer.
 */
export type Action = 'pass' | 'drop' | 'reset' | 'lose_answer' | 'reset_answer' | 'duplicate';

export interface Rule {
  /** Selects calls whose method and path contain this text, such as `POST /api/workers/heartbeat`. */
  readonly call?: string;
  readonly where?: (call: ProxiedCall) => boolean;
  readonly action: Action;
  /** Number of times that the rule applies; without a limit by default. */
  readonly times?: number;
}

export interface RuleBook {
  /** Adds a rule and returns a function that removes it. When several rules match, the oldest applies. */
  add(rule: Rule): () => void;
  actionFor(call: ProxiedCall): Action;
  clear(): void;
}

export function createRuleBook(): RuleBook {
  const rules = new Map<Rule, number>();
  return {
    add(rule) {
      rules.set(rule, rule.times ?? Number.POSITIVE_INFINITY);
      return () => void rules.delete(rule);
    },
    actionFor(call) {
      for (const [rule, left] of rules) {
        if (!matches(rule, call)) continue;
        if (left > 1) rules.set(rule, left - 1);
        else rules.delete(rule);
        return rule.action;
      }
      return 'pass';
    },
    clear: () => rules.clear(),
  };
}

const matches = ({ call = '', where }: Rule, received: ProxiedCall): boolean =>
  `${received.method} ${received.path}`.includes(call) && (where === undefined || where(received));

/** Returns a condition for `Rule.where` that matches reports of an agent with this status. */
export const reports =
  (status: string) =>
  ({ body }: ProxiedCall): boolean =>
    typeof body === 'object' && body !== null && 'status' in body && body.status === status;
