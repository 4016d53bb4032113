// Faults S12 and S23 in docs/internals/faults.md.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { z } from 'zod';
import type { Call } from '../../../protocol/call.ts';
import { everyTable } from '../../support/every-call.ts';
import { Problem } from '../../../protocol/problem.ts';
import { AnyProgress, Progress } from '../../../protocol/reports.ts';
import { StatusReport, WorkerCommand } from '../../../protocol/worker-api.ts';
import { LabelPatterns, Labels } from '../../../protocol/text.ts';

const rows: readonly (readonly [string, Call])[] = everyTable.flatMap(table => Object.entries(table));
const schemasOf = ([name, row]: readonly [string, Call]): readonly (readonly [string, z.ZodType])[] => [
  [`${name} params`, row.params],
  [`${name} query`, row.query],
  [`${name} body`, row.body],
  [`${name} reply`, row.reply],
];
const schemas: readonly (readonly [string, z.ZodType])[] = [
  ...rows.flatMap(schemasOf),
  ['StatusReport', StatusReport],
  ['WorkerCommand', WorkerCommand],
  ['Labels', Labels],
  ['LabelPatterns', LabelPatterns],
  ['Progress', Progress],
  ['AnyProgress', AnyProgress],
  ['Problem', Problem],
];

// Keys and values of the protocol make some generated values pass the first checks.
const protocolKeys =
  'id worker_id job_id attempt_id name status type reason labels worker_labels config config_name dataloader gpu_info ' +
  'gpus gpu_count count vram_gb progress job_progress metrics step error exit_code signal cause protocol limit offset ' +
  'upload_endpoint kind seq at __proto__ constructor toString';
const protocolValues =
  'job_submit job_cancel shutdown ping starting training failed pending auto worker job reset w_1 /api 12 true *a* *a*a*a*';
const leaf = fc.oneof(
  fc.constantFrom<unknown>(...protocolValues.split(' '), null, true, 0, -1, 1, 1e308, Number.NaN, 2 ** 53),
  fc.string(),
  fc.jsonValue(),
);
const { value } = fc.letrec<{ value: unknown }>(tie => ({
  value: fc.oneof(
    { maxDepth: 4 },
    leaf,
    fc.array(tie('value'), { maxLength: 4 }),
    // Zod reads `constructor.name`, so the objects need a prototype, like objects from JSON.
    fc.dictionary(fc.constantFrom(...protocolKeys.split(' ')), tie('value'), {
      maxKeys: 8,
      noNullPrototype: true,
    }),
  ),
}));

test('parses any value with every schema without an exception', () => {
  // All schemas get the same values, because generating a value takes longer than parsing it.
  fc.assert(
    fc.property(fc.oneof(value, fc.anything()), input => {
      for (const [name, schema] of schemas) {
        const result = schema.safeParse(input);
        if (!result.success && result.error.issues.length === 0) throw new Error(`${name} gives no reason`);
      }
    }),
    { numRuns: 200 },
  );
});

test('accepts or refuses a body of a thousand levels without an exception', () => {
  let deep: unknown = 1;
  for (let level = 0; level < 1_000; level += 1) deep = { config: deep, progress: deep };
  for (const [, schema] of schemas) expect(schema.safeParse(deep)).toHaveProperty('success');
});

test('does not change Object.prototype when it parses hostile keys', () => {
  const namesBefore = Object.getOwnPropertyNames(Object.prototype);
  const hostile: unknown = JSON.parse(
    '{"__proto__": {"polluted": 1}, "constructor": {"prototype": {"polluted": 1}}}',
  );
  for (const [, schema] of schemas) schema.safeParse(hostile);
  expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(namesBefore);
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
});
