import { expect, test } from 'vitest';
import { datasetsApi } from '../../../protocol/datasets-api.ts';

test.each([
  [{}, true],
  [{ names: ['photos'] }, true],
  [{ versions: [1, 2] }, true],
  [{ names: ['photos'], versions: [1] }, false],
  [{ versions: [0] }, false],
])('decides whether the request %j to remove datasets is valid: %j', (body, isValid) => {
  expect(datasetsApi.prune.body.safeParse(body).success).toBe(isValid);
});
