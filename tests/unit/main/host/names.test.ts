import { describe, expect, it } from 'vitest';
import { systemIds } from '../../../../main/host/system.ts';

describe.each([
  ['job', systemIds.job, /^j_[02-9a-hjkmnp-z]{12}$/],
  ['attempt', systemIds.attempt, /^a_[02-9a-hjkmnp-z]{20}$/],
])('the id of a %s', (_, createId: () => string, shape) => {
  it('has a fixed shape without ambiguous characters, and has random first characters', () => {
    const ids = Array.from({ length: 300 }, createId);
    for (const id of ids) expect(id).toMatch(shape);
    expect(new Set(ids).size).toBe(300);
    expect(new Set(ids.map(id => id.slice(0, 6))).size).toBeGreaterThan(295);
  });
});
