import { z } from 'zod';
import type { JobSort } from '../../../protocol/job-search.ts';
import { accept, type Outcome, refuse } from '../../../protocol/problem.ts';
import type { JobPosition } from '../../orchestrator/ports/index.ts';

const Order = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const Position = z.tuple([z.union([z.string(), z.number(), z.null()]), Order, z.string()]);

/**
 * Returns the cursor for the next page. In submission order it is only the job's number, because existing clients expect a number
 * there.
 */
export const cursorOf = ({ value, order }: JobPosition, sort: JobSort): string =>
  sort === 'submitted'
    ? String(order)
    : Buffer.from(JSON.stringify([value, order, sort])).toString('base64url');

/** Parses a cursor. Refuses the cursor of a list with another sort order. */
export function positionOf(cursor: string, sort: JobSort): Outcome<JobPosition> {
  const refusal = refuse('invalid_request', 'cursor: use the next_cursor of a page with the same sort');
  if (sort === 'submitted') {
    const order = Order.safeParse(/^\d+$/.test(cursor) ? Number(cursor) : null);
    return order.success ? accept({ value: order.data, order: order.data }) : refusal;
  }
  const position = Position.safeParse(parseJson(Buffer.from(cursor, 'base64url').toString()));
  if (!position.success) return refusal;
  const [value, order, madeFor] = position.data;
  return madeFor === sort ? accept({ value, order }) : refusal;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
