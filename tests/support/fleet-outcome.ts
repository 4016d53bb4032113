import type { Outcome, Refusal } from '../../protocol/problem.ts';

/** What an answer carries that must have been given. */
export function valueOf<T>(outcome: Outcome<T>): T {
  if (!outcome.ok) throw new Error(`refused: ${outcome.refusal.code}: ${outcome.refusal.detail}`);
  return outcome.value;
}

/** Why a call was refused that must have been; without the words for people. */
export function refusalOf(outcome: Outcome<unknown>): Omit<Refusal, 'detail'> {
  if (outcome.ok) throw new Error(`accepted: ${JSON.stringify(outcome.value)}`);
  const { code, action } = outcome.refusal;
  return action === undefined ? { code } : { code, action };
}
