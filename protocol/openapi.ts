import { z } from 'zod';
import { permissions } from './call.ts';

/** A JSON Schema of an object. The schemas of its properties are not validated. */
export const ObjectSchema = z.looseObject({
  type: z.literal('object'),
  properties: z.record(z.string(), z.record(z.string(), z.unknown())),
  required: z.array(z.string()),
});
export type ObjectSchema = z.output<typeof ObjectSchema>;

const Content = z.record(z.string(), z.object({ schema: z.record(z.string(), z.unknown()) }));

const OpenApiOperation = z.object({
  operationId: z.string(),
  summary: z.string(),
  'x-permission': z.enum(permissions).optional(),
  'x-own': z.enum(['job', 'filtered', 'shared', 'refused']).optional(),
  parameters: z
    .array(
      z.object({
        name: z.string(),
        in: z.enum(['path', 'query']),
        required: z.boolean().default(false),
        description: z.string().optional(),
        schema: z.record(z.string(), z.unknown()),
      }),
    )
    .default([]),
  requestBody: z.object({ content: Content }).optional(),
  responses: z.looseObject({ 200: z.object({ content: Content }) }),
});
export type OpenApiOperation = z.output<typeof OpenApiOperation>;

/** The parts of the orchestrator's OpenAPI document that clients use. */
export const OpenApiDocument = z.object({
  paths: z.record(z.string(), z.record(z.string(), OpenApiOperation)),
  components: z.object({ schemas: z.record(z.string(), z.record(z.string(), z.unknown())) }),
});
