import type { Outcome, Refusal } from '../../protocol/problem.ts';

/** Returns the value of a successful outcome; throws when the call was refused. */
export function valueOf<T>(outcome: Outcome<T>): T {
  if (!outcome.ok) throw new Error(`refused: ${outcome.refusal.code}: ${outcome.refusal.detail}`);
  return outcome.value;
}

/** Returns the refusal without its human-readable detail; throws when the call succeeded. */
export function refusalOf(outcome: Outcome<unknown>): Omit<Refusal, 'detail'> {
  if (outcome.ok) throw new Error(`accepted: ${JSON.stringify(outcome.value)}`);
  const { code, action } = outcome.refusal;
  return action === undefined ? { code } : { code, action };
}
