import { z } from 'zod';
import type { Call, OwnRule, StreamType } from '../../../protocol/call.ts';
import { Problem, problems } from '../../../protocol/problem.ts';
import { resources } from './operations.ts';

type Json = Readonly<Record<string, unknown>>;

/** Converts a zod schema to JSON Schema. Schemas with an `id` become components of the document; the result refers to them. */
type Describe = (schema: z.ZodType, io: 'input' | 'output') => Json;

/** Returns the OpenAPI 3.1 document for these calls. */
export function describeCalls(calls: readonly Call[], version: string): Json {
  const schemas: Record<string, Json> = {};
  const describe = createDescribe(schemas);
  const paths: Record<string, Record<string, Json>> = {};
  for (const call of calls) {
    const path = call.path.replaceAll(/[:*](\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [call.method.toLowerCase()]: operationOf(call, describe) };
  }
  const codes = Object.entries(problems).map(([code, { status }]) => `\`${code}\` (${status})`);
  const description = `The request failed. \`code\` is the reason. The codes and their HTTP statuses: ${codes.join(', ')}.`;
  const content = { 'application/problem+json': { schema: describe(Problem, 'output') } };
  return {
    openapi: '3.1.0',
    info: {
      title: 'Trainyard',
      version,
      description: 'The HTTP API of the orchestrator of a training fleet.',
      license,
    },
    servers: [{ url: '/', description: 'The orchestrator that serves this document.' }],
    tags,
    paths,
    components: { schemas, responses: { Problem: { description, content } }, securitySchemes },
  };
}

const license = { name: 'MIT', identifier: 'MIT' };

const tags = Object.entries(resources).map(([name, { description }]) => ({ name, description }));

const placements = new Map(
  Object.entries(resources).flatMap(([tag, { operations }]) =>
    Object.entries(operations).map(
      ([address, operationId]) => [address, { tags: [tag], operationId }] as const,
    ),
  ),
);

const securitySchemes = {
  bearer: { type: 'http', scheme: 'bearer', description: 'A user or a script, with a token of the API.' },
  worker: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Worker-Token',
    description: 'A worker, with its own token.',
  },
  upload: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Upload-Token',
    description:
      'A trainer, with the upload token of its attempt. `X-SimpleTuner-Secret` is another name of the header.',
  },
  join: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Worker-Token',
    description: 'A machine that joins as a worker, with a join token. The token works once.',
  },
};

function createDescribe(schemas: Record<string, Json>): Describe {
  return (schema, io) => {
    // The schema is wrapped in a list, so that a schema with an `id` at the top also becomes a reference.
    const text = JSON.stringify(z.toJSONSchema(z.array(schema), { io, unrepresentable: 'any' }));
    const { items, $defs = {} } = Described.parse(
      JSON.parse(text.replaceAll('"#/$defs/', '"#/components/schemas/')),
    );
    for (const [id, { id: _, ...shape }] of Object.entries($defs)) schemas[id] = shape;
    return items;
  };
}

const Shape = z.record(z.string(), z.unknown());
const Described = z.object({ items: Shape, $defs: z.record(z.string(), Shape).optional() });

function operationOf(call: Call, describe: Describe): Json {
  const parameters = [
    ...parametersOf(describe(call.params, 'input'), 'path'),
    ...parametersOf(describe(call.query, 'input'), 'query'),
  ];
  const body = describe(call.body, 'input');
  const type = call.stream ?? 'application/json';
  const content = { [type]: { schema: describe(call.reply, 'output') } };
  return {
    ...placements.get(`${call.method} ${call.path}`),
    summary: call.summary,
    ...securityOf(call),
    ...(parameters.length > 0 && { parameters }),
    ...(call.takesBytes && { requestBody: { content: { 'application/octet-stream': { schema: {} } } } }),
    ...(hasFields(body) && { requestBody: { content: { 'application/json': { schema: body } } } }),
    responses: {
      200: { description: successes[type], content },
      default: { $ref: '#/components/responses/Problem' },
    },
  };
}

const successes: Readonly<Record<StreamType | 'application/json', string>> = {
  'application/json': 'The request succeeded.',
  'text/event-stream': 'A stream of events, each with one JSON object.',
  'application/x-ndjson': 'One JSON object per line.',
  'application/octet-stream': 'The bytes of the file.',
  'text/csv': 'Comma-separated values, with a line of column names.',
  'text/plain': 'The response as plain text.',
};

const forOwn: Readonly<Record<OwnRule, (permission: string) => string>> = {
  job: permission => `, or \`${permission}\` for the token's own jobs`,
  filtered: permission => `, or \`${permission}\` for the token's own jobs: the response contains no others`,
  shared: permission => `, or \`${permission}\``,
  refused: () => '',
};

function securityOf({ authority, own = 'refused' }: Call): Json {
  if (authority === 'open') return { security: [], description: 'Needs no token.' };
  if (authority === 'worker' || authority === 'join' || authority === 'upload')
    return {
      security: [{ [authority]: [] }],
      description: `Needs ${authority === 'upload' ? 'an' : 'a'} ${authority} token.`,
    };
  return {
    security: [{ bearer: [] }],
    'x-permission': authority,
    'x-own': own,
    description: `Needs the permission \`${authority}\`${forOwn[own](`${authority}.own`)}.`,
  };
}

const hasFields = ({ properties = {}, propertyNames, $ref }: Json): boolean =>
  $ref !== undefined || propertyNames !== undefined || Object.keys(Shape.parse(properties)).length > 0;

function parametersOf({ properties = {}, required = [] }: Json, place: 'path' | 'query'): readonly Json[] {
  const needed = z.array(z.string()).parse(required);
  return Object.entries(z.record(z.string(), Shape).parse(properties)).map(([name, property]) => {
    const { description, ...schema } = property;
    return { name, in: place, required: place === 'path' || needed.includes(name), description, schema };
  });
}
