import { z } from 'zod';

/** The subset of JSON Schema that zod writes. */
export const Schema = z.record(z.string(), z.unknown());
export type Schema = z.output<typeof Schema>;

const content = z.record(z.string(), z.object({ schema: Schema })).default({});

const Operation = z.object({
  operationId: z.string(),
  summary: z.string().default(''),
  description: z.string().default(''),
  tags: z.array(z.string()).default([]),
  security: z.array(z.record(z.string(), z.unknown())).default([]),
  parameters: z
    .array(
      z.object({
        name: z.string(),
        in: z.string(),
        required: z.boolean(),
        description: z.string().optional(),
        schema: Schema,
      }),
    )
    .default([]),
  requestBody: z.object({ content }).optional(),
  responses: z.record(z.string(), z.object({ $ref: z.string() }).or(z.object({ content }))).default({}),
});
export type Operation = z.output<typeof Operation>;

/** The part of an OpenAPI 3.1 document that the page shows. */
export const ApiDocument = z.object({
  info: z.object({ title: z.string(), version: z.string(), description: z.string().default('') }),
  tags: z.array(z.object({ name: z.string(), description: z.string().default('') })).default([]),
  paths: z.record(z.string(), z.record(z.string(), Operation)),
  components: z.object({
    schemas: z.record(z.string(), Schema).default({}),
    responses: z.record(z.string(), z.object({ description: z.string(), content })).default({}),
    securitySchemes: z
      .record(
        z.string(),
        z.object({ type: z.string(), name: z.string().optional(), description: z.string() }),
      )
      .default({}),
  }),
});
export type ApiDocument = z.output<typeof ApiDocument>;

/** Returns the schema and the media type of a request or response body; null when there is no body. */
export function schemaIn(
  body: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> } | undefined,
): { readonly type: string; readonly schema: Schema } | null {
  const [first] = Object.entries(body?.content ?? {});
  return first === undefined ? null : { type: first[0], schema: first[1].schema };
}
