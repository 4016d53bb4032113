import { expect, test } from 'vitest';
import { systemIds } from '../../../../main/host/system.ts';

test.each([
  ['job', systemIds.job, /^j_[02-9a-hjkmnp-z]{12}$/],
  ['attempt', systemIds.attempt, /^a_[02-9a-hjkmnp-z]{20}$/],
] as const)(
  '%s ids have a fixed shape without ambiguous characters, and differ from their first characters on',
  (_, make, shape) => {
    const ids = Array.from({ length: 300 }, make);
    for (const id of ids) expect(id).toMatch(shape);
    expect(new Set(ids).size).toBe(300);
    expect(new Set(ids.map(id => id.slice(0, 6))).size).toBeGreaterThan(295);
  },
);
